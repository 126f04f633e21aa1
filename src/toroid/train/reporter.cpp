#include "toroid/train/reporter.h"

#include <fmt/format.h>

#include "toroid/base/log.h"

namespace toroid {

Reporter::Reporter(const std::filesystem::path& run_folder,
                   std::optional<std::int64_t> resumed_step)
    : metrics_(run_folder / "metrics.jsonl", resumed_step), events_(run_folder, resumed_step) {}

void Reporter::train(const TrainRecord& record) {
  metrics_.write(record);
  events_.write(record.step, {{"train/loss", record.loss},
                              {"train/top1", record.top1},
                              {"train/learning_rate", record.learning_rate},
                              {"train/images_per_s", record.images_per_s}});
}

void Reporter::evaluation(const EvalRecord& record) {
  metrics_.write(record);
  NamedValues values;
  std::string line =
      fmt::format("step {}: {} on {} examples:", record.step, record.split, record.examples);
  for (const NamedValue& value : record.values) {
    values.push_back({record.split + "/" + value.name, value.value});
    line += fmt::format(" {} {:.4f}", value.name, value.value);
  }
  events_.write(record.step, values);
  clear();
  log::info("{}", line);
}

}  // namespace toroid
