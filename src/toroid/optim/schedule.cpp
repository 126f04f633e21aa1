#include "toroid/optim/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

#include "toroid/base/error.h"
#include "toroid/base/nearest.h"

namespace toroid {

Schedule::Schedule(ScheduleOptions options, ScheduleSpan span)
    : options_(std::move(options)), span_(span) {
  static constexpr std::array<std::string_view, 2> kNames{"constant", "cosine"};
  if (std::find(kNames.begin(), kNames.end(), options_.name) == kNames.end()) {
    fail_unknown("schedule", options_.name, kNames);
  }
  warmup_ = std::llround(options_.warmup_epochs * span_.steps_per_epoch);
  if (warmup_ > span_.total_steps) {
    fail_usage("schedule.warmup_epochs = {}: the warm-up takes {} steps, the whole run {}",
               options_.warmup_epochs, warmup_, span_.total_steps);
  }
}

double Schedule::rate(std::int64_t step) const {
  if (step < warmup_) {
    return options_.rate * static_cast<double>(step + 1) / static_cast<double>(warmup_);
  }
  if (options_.name == "constant") return options_.rate;
  const std::int64_t peak = std::max<std::int64_t>(warmup_ - 1, 0);
  const std::int64_t last = span_.total_steps - 1;
  if (last <= peak) return options_.rate;
  const double p =
      std::min(1.0, static_cast<double>(step - peak) / static_cast<double>(last - peak));
  return options_.end + (options_.rate - options_.end) * (1 + std::cos(std::numbers::pi * p)) / 2;
}

}  // namespace toroid
