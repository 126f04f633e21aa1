#include "toroid/train/checkpoint_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "toroid/base/crc32c.h"
#include "toroid/base/error.h"
#include "toroid/base/file.h"
#include "toroid/report/named_value.h"

namespace toroid {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "toroid checkpoint";
constexpr std::uint64_t kVersion = 1;

const Json& member(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key)) fail("\"{}\" is missing", key);
  return json.at(key);
}

template <class T>
T whole_number(const Json& json, const char* key) {
  const Json& value = member(json, key);
  if (!value.is_number_unsigned() || !std::in_range<T>(value.get<std::uint64_t>())) {
    fail("\"{}\" is not a whole number in range", key);
  }
  return static_cast<T>(value.get<std::uint64_t>());
}

std::string text(const Json& json, const char* key) {
  const Json& value = member(json, key);
  if (!value.is_string()) fail("\"{}\" is not a string", key);
  return value.get<std::string>();
}

std::map<std::string, double> metrics_of(const Json& json) {
  if (!json.is_object()) fail("\"metrics\" is not an object");
  std::map<std::string, double> result;
  for (const auto& [name, value] : json.items()) {
    const auto special =
        value.is_string() ? non_finite_value(value.get<std::string>()) : std::nullopt;
    if (!value.is_number() && !special) fail("the metric {} is not a number", Json(name).dump());
    result[name] = special ? *special : value.get<double>();
  }
  return result;
}

Fingerprint state_of(const Json& json) {
  const std::string hexadecimal = text(json, "crc32c");
  Fingerprint result{whole_number<std::uint64_t>(json, "bytes"), 0};
  const char* end = hexadecimal.data() + hexadecimal.size();
  const auto parsed = std::from_chars(hexadecimal.data(), end, result.crc32c, 16);
  if (hexadecimal.size() != 8 || parsed.ec != std::errc() || parsed.ptr != end) {
    fail("\"crc32c\" is not eight hexadecimal digits");
  }
  return result;
}

CheckpointContent content_of(const Json& json) {
  if (text(json, "format") != kFormat) fail("\"format\" is not \"{}\"", kFormat);
  const auto version = whole_number<std::uint64_t>(json, "version");
  if (version != kVersion) {
    fail("version {} of the format; this program reads version {}", version, kVersion);
  }
  CheckpointInfo info;
  info.step = whole_number<std::int64_t>(json, "step");
  info.epoch = whole_number<std::int64_t>(json, "epoch");
  info.batches_done = whole_number<std::int64_t>(json, "batches_done");
  info.seed = whole_number<std::uint64_t>(json, "seed");
  info.world_size = whole_number<int>(json, "world_size");
  info.global_batch = whole_number<std::int64_t>(json, "global_batch");
  info.recipe = text(json, "recipe");
  info.metrics = metrics_of(member(json, "metrics"));
  if (json.contains("best")) {
    const Json& best = member(json, "best");
    info.best = {.step = whole_number<std::int64_t>(best, "step"),
                 .metrics = metrics_of(member(best, "metrics"))};
  }
  return {std::move(info), state_of(member(json, "state"))};
}

Json metrics_json(const std::map<std::string, double>& metrics) {
  Json json = Json::object();
  for (const auto& [name, value] : metrics) {
    json[name] = std::isfinite(value) ? Json(value) : Json(std::string(non_finite_name(value)));
  }
  return json;
}

}  // namespace

Fingerprint fingerprint(const std::filesystem::path& path) {
  constexpr std::uint64_t kPart = 1 << 20;
  const InputFile file(path);
  std::string part;
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < file.size(); at += part.size()) {
    part.resize(std::min(kPart, file.size() - at));
    file.read_at(at, std::as_writable_bytes(std::span(part)));
    crc = crc32c(part, crc);
  }
  return {file.size(), crc};
}

std::string checkpoint_json(const CheckpointInfo& info, const Fingerprint& state) {
  Json json = {{"format", kFormat},
               {"version", kVersion},
               {"step", info.step},
               {"epoch", info.epoch},
               {"batches_done", info.batches_done},
               {"seed", info.seed},
               {"world_size", info.world_size},
               {"global_batch", info.global_batch},
               {"metrics", metrics_json(info.metrics)}};
  if (info.best) {
    json["best"] = {{"step", info.best->step}, {"metrics", metrics_json(info.best->metrics)}};
  }
  json["state"] = {{"bytes", state.bytes}, {"crc32c", fmt::format("{:08x}", state.crc32c)}};
  json["recipe"] = info.recipe;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

CheckpointContent parse_checkpoint_json(const std::filesystem::path& path) {
  const std::string content = read_file(path);
  try {
    return content_of(Json::parse(content));
  } catch (const std::exception& error) {
    fail("{}: not a checkpoint's description: {}", path.string(), error.what());
  }
}

}  // namespace toroid
