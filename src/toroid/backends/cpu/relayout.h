// Moving a tensor from one layout to another: a node that the layout pass puts into a graph.
#pragma once

#include "toroid/backends/cpu/kernel.h"
#include "toroid/backends/cpu/layout.h"
#include "toroid/graph/op.h"

namespace toroid::cpu {

class OneDnn;

/// x -> the same tensor in another layout. An op of this backend alone.
struct Relayout {
  static constexpr std::string_view kName = "relayout";
  Layout from = Layout::kRowMajor, to = Layout::kRowMajor;

  std::vector<TensorType> infer(Types inputs) const { return {inputs.begin(), inputs.end()}; }
  Gradient gradient(GradientContext&) const {
    return NotDifferentiable{"layouts come after differentiation"};
  }
  Cost cost(Types inputs, Types outputs) const { return memory_cost(inputs, outputs); }
  template <class V>
  void attributes(V& visit) const {
    visit("from", name_of(from));
    visit("to", name_of(to));
  }
};

}  // namespace toroid::cpu
