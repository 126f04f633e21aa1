#include "toroid/train/reporter.h"

#include <fmt/chrono.h>

#include "toroid/base/error.h"
#include "toroid/base/log.h"

namespace toroid {

namespace {

// What is wrong with an old summary must not cost a new run its own.
void add_earlier_attempts(const std::filesystem::path& path, RunSummary& summary) {
  try {
    const auto before = read_summary(path);
    if (!before) return;
    summary.attempts = before->attempts;
    summary.seconds += before->seconds;
  } catch (const Error& error) {
    log::warning("the summary of earlier attempts is replaced: {}", error.what());
  }
}

}  // namespace

Reporter::Reporter(const std::filesystem::path& run_folder,
                   std::optional<std::int64_t> resumed_step)
    : folder_(run_folder),
      metrics_(run_folder / "metrics.jsonl", resumed_step),
      events_(run_folder, resumed_step) {}

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

void Reporter::finish(RunSummary summary, Attempt attempt) {
  clear();
  const auto path = folder_ / "summary.json";
  attempt.started = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                                fmt::gmtime(std::chrono::system_clock::to_time_t(started_)));
  attempt.seconds = summary.seconds;
  attempt.world_size = summary.world_size;
  add_earlier_attempts(path, summary);
  std::erase_if(summary.splits,
                [](const auto& split) { return split.second.final_values.empty(); });
  const bool nothing_new = attempt.first_step == attempt.last_step && !summary.attempts.empty() &&
                           summary.attempts.back().last_step == attempt.last_step &&
                           summary.attempts.back().outcome == "done";
  if (nothing_new && attempt.outcome == "done") return;
  summary.attempts.push_back(attempt);
  write_summary(path, summary);
  if (attempt.outcome != "done") return;
  log::info("done: {} steps in {}, {:.0f} images/s; see {}", attempt.last_step - attempt.first_step,
            format_duration(attempt.seconds), summary.images_per_s, folder_.string());
  log::info("{}", format_time(summary.time, summary.ops));
}

}  // namespace toroid
