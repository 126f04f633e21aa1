#include "toroid/optim/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>
#include <string_view>
#include <utility>

#include "toroid/base/error.h"
#include "toroid/base/nearest.h"

namespace toroid {
namespace {

// Half a cosine from `from` at 0 to `to` at 1.
double cosine_between(double from, double to, double p) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * p)) / 2;
}

}  // namespace

Schedule::Schedule(ScheduleOptions options, ScheduleSpan span)
    : options_(std::move(options)), span_(span) {
  static constexpr std::array<std::string_view, 6> kNames{"constant",   "step",        "cosine",
                                                          "polynomial", "exponential", "one_cycle"};
  if (std::find(kNames.begin(), kNames.end(), options_.name) == kNames.end()) {
    fail_unknown("schedule", options_.name, kNames);
  }
  warmup_ = steps_of(options_.warmup_epochs);
  if (warmup_ > span_.total_steps) {
    fail_usage("schedule.warmup_epochs = {}: the warm-up takes {} steps, the whole run {}",
               options_.warmup_epochs, warmup_, span_.total_steps);
  }
  if (options_.name == "step" && options_.milestones.empty()) {
    fail_usage(
        "schedule.milestones is missing: the schedule \"step\" needs the epochs after which "
        "the rate falls, for example milestones = [30, 60, 80]");
  }
  if (options_.name == "one_cycle" && options_.warmup_epochs > 0) {
    fail_usage("schedule.warmup_epochs = {}: one_cycle rises by itself; set schedule.pct_start",
               options_.warmup_epochs);
  }
}

std::int64_t Schedule::steps_of(double epochs) const {
  return std::llround(epochs * span_.steps_per_epoch);
}

double Schedule::rate(std::int64_t step) const {
  if (options_.name == "one_cycle") return one_cycle(step);
  if (step < warmup_) {
    return options_.rate * static_cast<double>(step + 1) / static_cast<double>(warmup_);
  }
  return decayed(step);
}

double Schedule::decayed(std::int64_t step) const {
  const ScheduleOptions& o = options_;
  if (o.name == "constant") return o.rate;
  if (o.name == "step") {
    const auto passed = std::count_if(o.milestones.begin(), o.milestones.end(),
                                      [&](double epoch) { return steps_of(epoch) <= step; });
    return o.rate * std::pow(o.factor, static_cast<double>(passed));
  }
  const auto since_peak = static_cast<double>(step - peak_step());
  if (o.name == "exponential")
    return o.rate * std::pow(o.factor, since_peak / span_.steps_per_epoch);
  if (last_step() <= peak_step()) return o.rate;
  const double p = std::min(1.0, since_peak / static_cast<double>(last_step() - peak_step()));
  if (o.name == "cosine") return cosine_between(o.rate, o.end, p);
  return o.end + (o.rate - o.end) * std::pow(1 - p, o.power);
}

double Schedule::one_cycle(std::int64_t step) const {
  const auto t = static_cast<double>(step);
  const auto last = static_cast<double>(last_step());
  const double top = options_.pct_start * static_cast<double>(span_.total_steps) - 1;
  const double first = options_.rate / options_.div_factor;
  if (t < top) return cosine_between(first, options_.rate, t / top);
  if (last <= top) return options_.rate;
  const double p = std::min(1.0, (t - top) / (last - top));
  return cosine_between(options_.rate, first / options_.final_div_factor, p);
}

std::vector<std::int64_t> Schedule::turning_steps() const {
  std::set<std::int64_t> steps{last_step()};
  if (warmup_ > 0) steps.insert(peak_step());
  if (options_.name == "step") {
    for (const double epoch : options_.milestones) steps.insert(std::max(steps_of(epoch), warmup_));
  }
  if (options_.name == "one_cycle") {
    const double top = options_.pct_start * static_cast<double>(span_.total_steps) - 1;
    steps.insert(std::llround(std::max(top, 0.0)));
  }
  steps.erase(steps.upper_bound(last_step()), steps.end());
  return {steps.begin(), steps.end()};
}

}  // namespace toroid
