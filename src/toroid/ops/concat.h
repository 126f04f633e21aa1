// Joining tensors along an axis, and its inverse, a part along an axis. Each is differentiated by
// the other.
#pragma once

#include "toroid/graph/builder.h"

namespace toroid {

/// One or more tensors of one float type, equal in all dimensions but `axis` -> one tensor, whose
/// dimension `axis` is the sum of theirs; in the operands' order.
struct Concat {
  static constexpr std::string_view kName = "concat";
  std::int64_t axis = 0;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const { return memory_cost(inputs, outputs); }
  template <class V>
  void attributes(V& visit) const {
    visit("axis", axis);
  }
};

/// The elements of x whose index along `axis` is in start .. limit-1; at least one.
struct Slice {
  static constexpr std::string_view kName = "slice";
  std::int64_t axis = 0;
  std::int64_t start = 0, limit = 0;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  /// Reads only what it keeps.
  Cost cost(Types, Types outputs) const { return memory_cost(outputs, outputs); }
  template <class V>
  void attributes(V& visit) const {
    visit("axis", axis);
    visit("start", start);
    visit("limit", limit);
  }
};

Value concat(Builder& builder, std::vector<Value> values, std::int64_t axis);
Value slice(Builder& builder, Value x, Slice attributes);

/// A tensor seen along an axis: `rows` blocks of `size` (the axis's dimension) pieces of `inner`
/// elements that follow each other.
struct AxisView {
  std::int64_t rows = 1, size = 1, inner = 1;
  AxisView(const Shape& shape, std::int64_t axis);
};

}  // namespace toroid
