// Evaluating a state over a data set, exactly: padding never counts.
#pragma once

#include <cstdint>
#include <functional>

#include "toroid/data/loader.h"
#include "toroid/report/named_value.h"
#include "toroid/train/engine.h"
#include "toroid/train/recipe.h"

namespace toroid {

/// Sums over all examples and replicas.
struct EvaluationSums {
  std::int64_t examples = 0;
  double loss = 0, top1 = 0, top5 = 0;

  /// loss, top1, top5 as means.
  NamedValues means() const;
};

/// This process's share of the replicas.
struct Placement {
  int replicas = 1;  ///< of the whole run
  int first = 0;     ///< of this process
  int local = 1;
};

/// Error naming the first class that differs, when both the data set and `names` (of `source`) have
/// names: a label would mean another class.
void check_same_classes(const Dataset& dataset, const std::vector<std::string>& names,
                        const std::string& source);

/// One pass over the data set, every example once, with pictures as the recipe's data.evaluate
/// makes them. All ranks call it and get the same sums.
EvaluationSums evaluate(Engine& engine, const Dataset& dataset, const Placement& placement,
                        const Recipe& recipe);

}  // namespace toroid
