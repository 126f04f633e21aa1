// Small ops for the tests of the graph, which stands before the real ones.
#pragma once

#include "toroid/base/error.h"
#include "toroid/graph/builder.h"

namespace toroid {

/// Any number of f32 tensors of one shape -> `results` tensors of that shape; a start or done of a
/// collective where asked.
struct ToyOp {
  static constexpr std::string_view kName = "toy";
  int results = 1;
  CollectiveRole role = {};

  std::vector<TensorType> infer(Types inputs) const {
    for (const TensorType& type : inputs) {
      if (type != inputs[0]) fail("operands must be {}, one is {}", inputs[0].str(), type.str());
    }
    const TensorType type = inputs.empty() ? TensorType{DType::f32, Shape{2}} : inputs[0];
    return std::vector<TensorType>(static_cast<std::size_t>(results), type);
  }
  Gradient gradient(GradientContext&) const { return NotDifferentiable{"it is a toy"}; }
  Cost cost(Types inputs, Types outputs) const { return memory_cost(inputs, outputs, 3); }
  CollectiveRole collective() const { return role; }
  template <class V>
  void attributes(V& visit) const {
    if (results != 1) visit("results", results);
  }
};

inline ToyOp toy_start(int results, int group_size) {
  return {results, {CollectiveRole::Kind::kStart, group_size}};
}
inline ToyOp toy_done(int results) {
  return {results, {CollectiveRole::Kind::kDone}};
}

}  // namespace toroid
