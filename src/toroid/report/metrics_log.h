// metrics.jsonl: what happened during a run, one JSON object a line (docs/formats/run_folder.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "toroid/report/append_file.h"
#include "toroid/report/named_value.h"

namespace toroid {

/// Means over the steps since the line before.
struct TrainRecord {
  std::int64_t step = 0;  ///< steps done since the run began
  double epoch = 0;       ///< epochs done, with the fraction of the current one
  double loss = 0;
  double top1 = 0;
  double learning_rate = 0;
  double images_per_s = 0;  ///< over all ranks
};

/// One evaluation of one split.
struct EvalRecord {
  std::string split;  ///< "validation", ...
  std::int64_t step = 0;
  double epoch = 0;
  std::int64_t examples = 0;
  NamedValues values;  ///< loss, top1, top5, ...
};

/// Appends to `path`; a line is in the file when write() returns. Numbers round-trip to the bit;
/// non-finite ones are strings (see non_finite_name).
class MetricsLog {
 public:
  /// Without `resumed_step`, starts an empty file; with N, goes on behind the lines of steps up
  /// to N: see keep_metrics_up_to.
  explicit MetricsLog(const std::filesystem::path& path,
                      std::optional<std::int64_t> resumed_step = std::nullopt);
  void write(const TrainRecord& record);
  void write(const EvalRecord& record);

 private:
  AppendFile file_;
};

/// Drops the lines of steps after `step`, which a resumed run will write again, and what is no JSON
/// object (an unfinished last line; anything else with a warning that names the line). The others
/// stay byte for byte. The file is replaced at once; a missing one is left missing.
void keep_metrics_up_to(const std::filesystem::path& path, std::int64_t step);

}  // namespace toroid
