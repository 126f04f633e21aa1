// Sums over axes, their inverse (broadcast), and the sum of squares over many tensors.
#pragma once

#include "toroid/graph/builder.h"

namespace toroid {

/// Sum over the given axes (ascending), which disappear; over all axes it gives a scalar.
struct Sum {
  static constexpr std::string_view kName = "sum";
  std::vector<std::int64_t> axes;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("axes", axes);
  }
};

/// x repeated along new axes: `axes` are the axes of `shape` that x does not have (ascending), so
/// that Sum over the same axes is its gradient.
struct Broadcast {
  static constexpr std::string_view kName = "broadcast";
  Shape shape;
  std::vector<std::int64_t> axes;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const { return memory_cost(inputs, outputs); }
  template <class V>
  void attributes(V& visit) const {
    visit("shape", shape);
    visit("axes", axes);
  }
};

/// Any number of tensors of one float type -> scalar: the sum of the squares of all elements.
/// On f32 and bf16 the sum is formed so that its error does not grow with the element count.
struct SumSquares {
  static constexpr std::string_view kName = "sum_squares";

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V&) const {}
};

/// The same elements in the same order under another shape.
struct Reshape {
  static constexpr std::string_view kName = "reshape";
  Shape shape;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const { return memory_cost(inputs, outputs); }
  template <class V>
  void attributes(V& visit) const {
    visit("shape", shape);
  }
};

Value sum(Builder& builder, Value x, std::vector<std::int64_t> axes);
/// Over every axis, to a scalar.
Value sum(Builder& builder, Value x);
Value broadcast(Builder& builder, Value x, Shape shape, std::vector<std::int64_t> axes);
Value sum_squares(Builder& builder, std::vector<Value> values);
Value reshape(Builder& builder, Value x, Shape shape);

}  // namespace toroid
