// What a run tells people and files while it goes on; one rank reports for all.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "toroid/report/events.h"
#include "toroid/report/metrics_log.h"
#include "toroid/report/progress.h"
#include "toroid/report/summary.h"

namespace toroid {

class Reporter {
 public:
  /// Opens metrics.jsonl and the event file; with `resumed_step`, behind that step.
  Reporter(const std::filesystem::path& run_folder, std::optional<std::int64_t> resumed_step);

  void train(const TrainRecord& record);
  void evaluation(const EvalRecord& record);
  void progress(const ProgressState& state) { progress_.update(state); }
  /// Adds this attempt to the summary.json of those before it and says where things are. `summary`
  /// holds this attempt's own seconds; `attempt`, its steps and outcome.
  void finish(RunSummary summary, Attempt attempt);
  /// Takes the progress line away for a message.
  void clear() { progress_.clear(); }

 private:
  std::filesystem::path folder_;
  std::chrono::system_clock::time_point started_ = std::chrono::system_clock::now();
  MetricsLog metrics_;
  EventWriter events_;
  Progress progress_;
};

}  // namespace toroid
