// The rectifier.
#pragma once

#include "toroid/graph/builder.h"

namespace toroid {

/// max(x, 0); NaN stays NaN.
struct Relu {
  static constexpr std::string_view kName = "relu";

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V&) const {}
};

/// dy, y = relu(x) [, more dy] -> dx = y > 0 ? the sum of all dy : 0. It reads the result, so that
/// x need not be kept.
struct ReluGradient {
  static constexpr std::string_view kName = "relu_gradient";
  static constexpr int kMostGradients = 4;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V&) const {}
};

Value relu(Builder& builder, Value x);

}  // namespace toroid
