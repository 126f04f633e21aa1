// Checking gradients against central finite differences in f64, on one rank or many.
#pragma once

#include <functional>
#include <vector>

#include "toroid/base/tensor.h"
#include "toroid/comm/communicator.h"
#include "toroid/graph/builder.h"

namespace toroid {

/// A function of some operands, and which of them to differentiate by.
struct DifferentiationProblem {
  /// Adds the function and returns its results.
  std::function<std::vector<Value>(Builder&, const std::vector<Value>&)> build;
  /// This rank's operands; those differentiated by are f64.
  std::vector<Tensor> operands;
  std::vector<std::size_t> wrt;
  /// Operands that have the same elements on all ranks, as parameters do. They are disturbed
  /// everywhere at once, and their gradient is the sum of the ranks' gradients.
  std::vector<std::size_t> replicated = {};
};

/// Each rank's loss is sum(y * r) over the results, with fixed random r that differ by rank; the
/// losses add up over all ranks. For each operand in `wrt`, the derivative of the total along
/// random directions (which disturb every element on every rank), by central differences and by the
/// ranks' gradients g; returns the largest |difference| / (max(|g|, 1) |direction|), in L2 norms
/// over all ranks. Every rank calls it and gets the same number; infinite when there is a NaN.
double gradient_error(Communicator& communicator, const DifferentiationProblem& problem);

}  // namespace toroid
