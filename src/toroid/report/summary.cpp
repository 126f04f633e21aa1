#include "toroid/report/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "toroid/base/error.h"
#include "toroid/base/file.h"

namespace toroid {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::string(non_finite_name(value));
}

double number(const Json& value) {
  if (!value.is_string()) return value.get<double>();
  const auto special = non_finite_value(value.get<std::string>());
  if (!special) fail("\"{}\" is not a number", value.get<std::string>());
  return *special;
}

Json object_of(const NamedValues& values) {
  Json result = Json::object();
  for (const NamedValue& value : values) result[value.name] = number(value.value);
  return result;
}

NamedValues values_of(const Json& object) {
  NamedValues result;
  for (const auto& [name, value] : object.items()) result.push_back({name, number(value)});
  return result;
}

Json to_json(const Attempt& attempt) {
  return {{"started", attempt.started},       {"first_step", attempt.first_step},
          {"last_step", attempt.last_step},   {"seconds", number(attempt.seconds)},
          {"world_size", attempt.world_size}, {"outcome", attempt.outcome}};
}

Attempt attempt_of(const Json& json) {
  return {json.at("started"),         json.at("first_step"), json.at("last_step"),
          number(json.at("seconds")), json.at("world_size"), json.at("outcome")};
}

Json to_json(const SplitSummary& split) {
  Json result = {{"final", object_of(split.final_values)}};
  if (split.best_step) {
    result["best"] = object_of(split.best_values);
    result["best_step"] = *split.best_step;
  }
  return result;
}

SplitSummary split_of(const Json& json) {
  SplitSummary result{
      .final_values = values_of(json.at("final")), .best_values = {}, .best_step = {}};
  if (json.contains("best")) {
    result.best_values = values_of(json.at("best"));
    result.best_step = json.at("best_step").get<std::int64_t>();
  }
  return result;
}

// The parts by name, in the order in which they are told.
template <class Time>
auto parts_of(Time& time) {
  return std::array{
      std::pair("steps", &time.steps),           std::pair("data_wait", &time.data_wait),
      std::pair("evaluation", &time.evaluation), std::pair("saving", &time.saving),
      std::pair("starting", &time.starting),     std::pair("other", &time.other)};
}

Json to_json(const TimeUse& time) {
  Json result = Json::object();
  for (const auto& [name, seconds] : parts_of(time)) result[name] = number(*seconds);
  return result;
}

TimeUse time_of(const Json& json) {
  TimeUse time;
  for (const auto& [name, seconds] : parts_of(time)) *seconds = number(json.at(name));
  return time;
}

Json to_json(const MemorySummary& memory) {
  Json largest = Json::array();
  for (const NamedValue& value : memory.at_busiest) {
    largest.push_back({{"path", value.name}, {"mb", number(value.value)}});
  }
  return {{"arena_mb", number(memory.arena_mb)}, {"live_mb", number(memory.live_mb)},
          {"state_mb", number(memory.state_mb)}, {"rss_mb", number(memory.rss_mb)},
          {"busiest", memory.busiest},           {"at_busiest", std::move(largest)}};
}

MemorySummary memory_of(const Json& json) {
  MemorySummary memory{.arena_mb = number(json.at("arena_mb")),
                       .live_mb = number(json.at("live_mb")),
                       .state_mb = number(json.at("state_mb")),
                       .rss_mb = number(json.at("rss_mb")),
                       .busiest = json.at("busiest"),
                       .at_busiest = {}};
  for (const Json& one : json.at("at_busiest")) {
    memory.at_busiest.push_back({one.at("path"), number(one.at("mb"))});
  }
  return memory;
}

RunSummary summary_of(const Json& json) {
  RunSummary result;
  for (const auto& [name, value] : json.items()) {
    if (value.is_object() && value.contains("final")) result.splits[name] = split_of(value);
  }
  result.seconds = number(json.at("seconds"));
  result.images_per_s = number(json.at("images_per_s"));
  json.at("parameters").get_to(result.parameters);
  json.at("seed").get_to(result.seed);
  json.at("world_size").get_to(result.world_size);
  json.at("versions").get_to(result.versions);
  if (json.contains("time")) result.time = time_of(json.at("time"));
  if (json.contains("ops")) result.ops = values_of(json.at("ops"));
  if (json.contains("memory")) result.memory = memory_of(json.at("memory"));
  for (const Json& attempt : json.at("attempts")) result.attempts.push_back(attempt_of(attempt));
  return result;
}

}  // namespace

void write_summary(const std::filesystem::path& path, const RunSummary& summary) {
  Json json = Json::object();
  for (const auto& [name, split] : summary.splits) json[name] = to_json(split);
  json["seconds"] = number(summary.seconds);
  json["images_per_s"] = number(summary.images_per_s);
  json["parameters"] = summary.parameters;
  json["seed"] = summary.seed;
  json["world_size"] = summary.world_size;
  json["time"] = to_json(summary.time);
  json["ops"] = object_of(summary.ops);
  json["memory"] = to_json(summary.memory);
  json["versions"] = summary.versions;
  json["attempts"] = Json::array();
  for (const Attempt& attempt : summary.attempts) json["attempts"].push_back(to_json(attempt));
  write_file(path, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string format_time(const TimeUse& time, const NamedValues& ops) {
  constexpr std::size_t kOpsShown = 4;
  const double sum = time.sum();
  if (sum <= 0) return "";
  std::vector<std::string> parts;
  const auto share = [&](std::string name, double seconds) {
    std::ranges::replace(name, '_', ' ');
    return fmt::format("{} {:.0f}%", name, seconds / sum * 100);
  };
  for (const auto& [name, seconds] : parts_of(time)) {
    if (*seconds < 0.005 * sum) continue;
    parts.push_back(share(name, *seconds));
    if (seconds != &time.steps || ops.empty()) continue;
    std::vector<std::string> shown;
    for (std::size_t i = 0; i < std::min(kOpsShown, ops.size()); ++i) {
      shown.push_back(fmt::format("{} {:.0f}%", ops[i].name, ops[i].value / sum * 100));
    }
    parts.back() += fmt::format(" ({})", fmt::join(shown, ", "));
  }
  return fmt::format("time: {}", fmt::join(parts, ", "));
}

std::optional<RunSummary> read_summary(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  try {
    return summary_of(Json::parse(read_file(path)));
  } catch (const std::exception& error) {
    fail("{}: not a run's summary: {}", path.string(), error.what());
  }
}

}  // namespace toroid
