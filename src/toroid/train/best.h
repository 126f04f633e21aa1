// The best evaluation of a run by the recipe's measure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "toroid/report/named_value.h"
#include "toroid/train/checkpoint.h"

namespace toroid {

class Best {
 public:
  /// "validation.top1", ...: the largest wins; of a loss, the smallest.
  explicit Best(std::string measure) : measure_(std::move(measure)) {}

  /// Takes an evaluation as the best if it is better than the one so far, or that is NaN.
  void offer(std::int64_t step, const NamedValues& values);
  std::optional<std::int64_t> step() const { return step_; }
  const NamedValues& values() const { return values_; }

  void store(CheckpointInfo& info) const;
  void restore(const CheckpointInfo& info);

 private:
  double score(const NamedValues& values) const;

  std::string measure_;
  std::optional<std::int64_t> step_;
  NamedValues values_;
};

}  // namespace toroid
