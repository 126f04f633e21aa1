// Matrix products, and the bias that follows a dense layer or convolution.
#pragma once

#include "toroid/graph/builder.h"

namespace toroid {

/// a [M,K], b [K,N] -> [M,N], each operand transposed first where the attribute says so. The
/// product of bf16 matrices is f32.
struct Matmul {
  static constexpr std::string_view kName = "matmul";
  bool transpose_a = false;
  bool transpose_b = false;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    if (transpose_a) visit("transpose_a", transpose_a);
    if (transpose_b) visit("transpose_b", transpose_b);
  }
};

/// x [...,C], bias [C] -> x + bias, the bias added along the last axis.
struct AddBias {
  static constexpr std::string_view kName = "add_bias";

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V&) const {}
};

Value matmul(Builder& builder, Value a, Value b, Matmul attributes = {});
Value add_bias(Builder& builder, Value x, Value bias);

}  // namespace toroid
