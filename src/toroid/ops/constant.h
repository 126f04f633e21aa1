// Constants and conversions between element types.
#pragma once

#include "toroid/graph/builder.h"

namespace toroid {

/// A tensor whose elements all have one value.
struct Constant {
  static constexpr std::string_view kName = "constant";
  double value = 0;
  TensorType type;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const { return memory_cost(inputs, outputs); }
  template <class V>
  void attributes(V& visit) const {
    visit("value", value);
  }
};

/// x in another element type: floats round to nearest even; bool becomes 0 or 1.
/// The gradient is converted back; there is none between integers.
struct Convert {
  static constexpr std::string_view kName = "convert";
  DType dtype = DType::f32;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const { return memory_cost(inputs, outputs); }
  template <class V>
  void attributes(V& visit) const {
    visit("dtype", dtype);
  }
};

Value constant(Builder& builder, double value, const TensorType& type);
/// A scalar of the given type.
Value constant(Builder& builder, double value, DType dtype);
/// x itself when it has that type already.
Value convert(Builder& builder, Value x, DType dtype);

}  // namespace toroid
