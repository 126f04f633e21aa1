#include "toroid/report/metrics_log.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "toroid/base/file.h"
#include "toroid/base/log.h"

namespace toroid {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::string(non_finite_name(value));
}

std::string line_of(const Json& record) {
  return record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Opens the log with only those lines in it that the run goes on from.
std::filesystem::path prepared(const std::filesystem::path& path,
                               std::optional<std::int64_t> resumed_step) {
  if (resumed_step) {
    keep_metrics_up_to(path, *resumed_step);
  } else {
    write_file(path, "");
  }
  return path;
}

}  // namespace

MetricsLog::MetricsLog(const std::filesystem::path& path, std::optional<std::int64_t> resumed_step)
    : file_(prepared(path, resumed_step)) {}

void MetricsLog::write(const TrainRecord& record) {
  file_.append(line_of({{"kind", "train"},
                        {"step", record.step},
                        {"epoch", number(record.epoch)},
                        {"loss", number(record.loss)},
                        {"top1", number(record.top1)},
                        {"learning_rate", number(record.learning_rate)},
                        {"images_per_s", number(record.images_per_s)}}));
}

void MetricsLog::write(const EvalRecord& record) {
  Json line = {{"kind", "eval"},
               {"split", record.split},
               {"step", record.step},
               {"epoch", number(record.epoch)},
               {"examples", record.examples}};
  for (const NamedValue& value : record.values) line[value.name] = number(value.value);
  file_.append(line_of(line));
}

void keep_metrics_up_to(const std::filesystem::path& path, std::int64_t step) {
  if (!std::filesystem::exists(path)) return;
  const std::string content = read_file(path);
  std::string kept;
  std::size_t line_number = 0;
  for (std::string_view rest = content; !rest.empty();) {
    ++line_number;
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    const bool finished = end != std::string_view::npos;
    rest.remove_prefix(finished ? end + 1 : rest.size());
    const Json record = Json::parse(line, nullptr, false);
    if (!record.is_object()) {
      if (finished) {
        log::warning("{}:{}: not a JSON object; line dropped", path.string(), line_number);
      }
      continue;
    }
    const auto found = record.find("step");
    if (found != record.end() && found->is_number() && found->get<double>() > double(step)) {
      continue;
    }
    kept.append(line).append("\n");
  }
  if (kept != content) write_file(path, kept);
}

}  // namespace toroid
