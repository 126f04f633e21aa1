// What training steps add up to, between two lines of metrics.jsonl and over an attempt.
#pragma once

#include <cstdint>

#include "toroid/backends/backend.h"
#include "toroid/report/metrics_log.h"

namespace toroid {

class TrainingMeter {
 public:
  /// A step took `seconds` for `images` pictures of the global batch, whatever came of it.
  void time(double seconds, std::int64_t images);
  /// The outputs of a step that counted (build_train_graph), at that learning rate.
  void add(const Outputs& outputs, double learning_rate);

  /// No step has counted since the last reset: there are no means.
  bool empty() const { return examples_ == 0; }
  double loss() const { return loss_ / examples_; }
  double top1() const { return top1_ / examples_; }
  /// Over all steps of this attempt, without evaluation and saving; 0 before the first.
  double images_per_s() const;
  /// The means since the last reset.
  TrainRecord record(std::int64_t step, double epoch) const;
  void reset();

 private:
  double loss_ = 0, top1_ = 0, examples_ = 0, seconds_ = 0, learning_rate_ = 0;  // since reset
  double all_seconds_ = 0;
  std::int64_t all_images_ = 0;
};

}  // namespace toroid
