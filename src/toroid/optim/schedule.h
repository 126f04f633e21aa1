// Learning-rate schedules: pure functions of the step, on the host.
#pragma once

#include <cstdint>
#include <string>

namespace toroid {

struct ScheduleOptions {
  std::string name = "constant";  ///< constant | cosine
  double rate = 0.1;              ///< the peak
  double warmup_epochs = 0;       ///< linear warm-up to the peak; may be a fraction
  double end = 0;                 ///< cosine: the rate of the last step
};

/// The length of a run in steps.
struct ScheduleSpan {
  std::int64_t total_steps = 0;
  double steps_per_epoch = 0;
};

/// The rate of step 0 .. total_steps-1.
///
/// With W = round(warmup_epochs * steps_per_epoch) warm-up steps, step t < W has rate (t + 1) / W
/// times the peak, so the last of them is at the peak (Goyal et al., 2017, section 2.2, gradual
/// warm-up). From that step P (step 0 without warm-up) to the last, with p = (t - P) / (last - P):
///   constant: peak;   cosine: end + (peak - end) (1 + cos(pi p)) / 2, so the last step has `end`.
/// Error when the warm-up is longer than the run, a number is out of range, or the name is unknown.
class Schedule {
 public:
  Schedule(ScheduleOptions options, ScheduleSpan span);
  double rate(std::int64_t step) const;

 private:
  ScheduleOptions options_;
  ScheduleSpan span_;
  std::int64_t warmup_ = 0;
};

}  // namespace toroid
