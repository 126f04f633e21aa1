// Learning-rate schedules: pure functions of the step, on the host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace toroid {

struct ScheduleOptions {
  /// constant | step | cosine | polynomial | exponential | one_cycle
  std::string name = "constant";
  double rate = 0.1;               ///< the peak
  double warmup_epochs = 0;        ///< linear warm-up to the peak; may be a fraction
  double end = 0;                  ///< cosine, polynomial: the rate of the last step
  std::vector<double> milestones;  ///< step: in epochs from the run's start; may be fractions
  double factor = 0.1;             ///< step: at each milestone; exponential: of each epoch
  double power = 1;                ///< polynomial
  double pct_start = 0.3;          ///< one_cycle: the share of the run in which the rate rises
  double div_factor = 25;          ///< one_cycle: the first rate is the peak divided by this
  double final_div_factor = 1e4;   ///< one_cycle: the last rate is the first divided by this
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
///   constant     peak
///   step         peak * factor^(milestones m with round(m * steps_per_epoch) <= t); milestones
///                count from the run's start, the warm-up included, and act after the warm-up
///   cosine       end + (peak - end) (1 + cos(pi p)) / 2    (Loshchilov and Hutter, 2017, eq. 5,
///                without restarts)
///   polynomial   end + (peak - end) (1 - p)^power
///   exponential  peak * factor^((t - P) / steps_per_epoch), changing at every step
/// so the last step of cosine and polynomial has `end`.
///
/// one_cycle is PyTorch's OneCycleLR with cosine annealing and two phases (after Smith and Topin,
/// 2018), without its cycling of momentum. With N steps and u = pct_start N - 1: from
/// peak / div_factor at step 0 along half a cosine up to the peak at u, which need not be a whole
/// number, and from there along another down to peak / div_factor / final_div_factor at step N - 1.
/// It has no other warm-up.
///
/// Error (exit status 2) when the warm-up is longer than the run, the schedule lacks what it needs,
/// or the name is unknown.
class Schedule {
 public:
  Schedule(ScheduleOptions options, ScheduleSpan span);
  double rate(std::int64_t step) const;
  /// Steps where the rate turns, ascending: the end of the warm-up (its last step, at the peak),
  /// the first step after each milestone, the peak of one_cycle, the last step.
  std::vector<std::int64_t> turning_steps() const;

 private:
  double decayed(std::int64_t step) const;
  double one_cycle(std::int64_t step) const;
  std::int64_t peak_step() const { return warmup_ > 0 ? warmup_ - 1 : 0; }
  std::int64_t last_step() const { return span_.total_steps - 1; }
  std::int64_t steps_of(double epochs) const;

  ScheduleOptions options_;
  ScheduleSpan span_;
  std::int64_t warmup_ = 0;
};

}  // namespace toroid
