// Running the ops' worked cases on a backend and comparing with another: what the tests of each
// backend do for every op.
#pragma once

#include <string>
#include <vector>

#include "toroid/backends/backend.h"
#include "toroid/ops/registry.h"

namespace toroid {

/// The case's operands as make_operand draws them.
std::vector<Tensor> case_operands(const OpCase& op_case, std::uint64_t seed);

/// The case on one replica: its operands are the variables "x0", "x1", ... of a state, its results
/// the outputs "y0", "y1", ...
Graph case_graph(const OpCase& op_case);

/// Runs that graph, or one that a pass made of it, and gives its results.
std::vector<Tensor> run_case(Backend& backend, const Graph& graph,
                             const std::vector<Tensor>& operands);
std::vector<Tensor> run_case(Backend& backend, const OpCase& op_case,
                             const std::vector<Tensor>& operands);

/// The distance between two tensors of one shape: the L2 norm of the difference over that of
/// `wanted` for floats (the norm itself where `wanted` is zero); the share of unequal elements for
/// integers and bools. Infinite when the shapes differ, a float's dtype does not stay a float, or
/// one has a NaN where the other has none.
double relative_error(const Tensor& got, const Tensor& wanted);

/// A case's largest relative error over its results.
struct CaseError {
  std::string op;
  std::string label;
  double error = 0;
  /// What kept the case from running, else empty; the error is infinite then.
  std::string message;
};

/// Runs every case of op_cases(f32) on `backend`, and on `oracle` in f64 from the same operands
/// (drawn in f32, then widened); one entry per case, in their order.
std::vector<CaseError> compare_with_oracle(Backend& backend, Backend& oracle,
                                           std::uint64_t seed = 1);

}  // namespace toroid
