#include "toroid/train/best.h"

#include <cmath>

namespace toroid {

double Best::score(const NamedValues& values) const {
  for (const NamedValue& value : values) {
    if (measure_ != "validation." + value.name) continue;
    return value.name == "loss" ? -value.value : value.value;
  }
  return std::nan("");
}

void Best::offer(std::int64_t step, const NamedValues& values) {
  const double so_far = score(values_);
  if (step_ && !std::isnan(so_far) && !(score(values) > so_far)) return;
  step_ = step;
  values_ = values;
}

void Best::store(CheckpointInfo& info) const {
  if (!step_) return;
  info.best = BestEvaluation{*step_, {}};
  for (const NamedValue& value : values_) info.best->metrics[value.name] = value.value;
}

void Best::restore(const CheckpointInfo& info) {
  if (!info.best) return;
  step_ = info.best->step;
  values_.clear();
  for (const auto& [name, value] : info.best->metrics) values_.push_back({name, value});
}

}  // namespace toroid
