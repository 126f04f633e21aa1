// Elementwise arithmetic, comparison and selection.
#pragma once

#include "toroid/graph/builder.h"

namespace toroid {

/// kExpm1 is exp(x) - 1, exact to the last bits near 0.
enum class UnaryKind { kNegate, kExp, kExpm1, kLog, kSqrt };
/// "negate", "exp", "expm1", "log", "sqrt"
std::string_view name_of(UnaryKind kind);

struct Unary {
  static constexpr std::string_view kName = "unary";
  UnaryKind kind = UnaryKind::kNegate;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  std::string_view label() const { return name_of(kind); }
  template <class V>
  void attributes(V&) const {}
};

enum class BinaryKind { kAdd, kSubtract, kMultiply, kDivide, kMaximum };
/// "add", "subtract", "multiply", "divide", "maximum"
std::string_view name_of(BinaryKind kind);

/// a and b of one float type and one shape; either may be a scalar, which then meets every element.
/// Where maximum finds equal operands, the gradient goes to a.
struct Binary {
  static constexpr std::string_view kName = "binary";
  BinaryKind kind = BinaryKind::kAdd;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  std::string_view label() const { return name_of(kind); }
  template <class V>
  void attributes(V&) const {}
};

enum class CompareKind { kEqual, kLess, kGreaterEqual };
/// "equal", "less", "greater_equal"
std::string_view name_of(CompareKind kind);

/// a and b of one type (any) and one shape, either may be a scalar -> bool. NaN compares false.
struct Compare {
  static constexpr std::string_view kName = "compare";
  CompareKind kind = CompareKind::kEqual;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  std::string_view label() const { return name_of(kind); }
  template <class V>
  void attributes(V&) const {}
};

/// Float -> bool: neither infinite nor NaN.
struct IsFinite {
  static constexpr std::string_view kName = "is_finite";

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V&) const {}
};

/// condition (bool: a scalar, or of the operands' shape) ? a : b. The operand not chosen does not
/// touch the result, be it NaN; nor does its gradient.
struct Select {
  static constexpr std::string_view kName = "select";

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V&) const {}
};

Value negate(Builder& builder, Value x);
Value exp(Builder& builder, Value x);
Value expm1(Builder& builder, Value x);
Value log(Builder& builder, Value x);
Value sqrt(Builder& builder, Value x);
Value add(Builder& builder, Value a, Value b);
Value subtract(Builder& builder, Value a, Value b);
Value multiply(Builder& builder, Value a, Value b);
Value divide(Builder& builder, Value a, Value b);
Value maximum(Builder& builder, Value a, Value b);
/// The number becomes a constant of the operand's type.
Value add(Builder& builder, Value a, double b);
Value subtract(Builder& builder, double a, Value b);
Value multiply(Builder& builder, Value a, double b);
Value maximum(Builder& builder, Value a, double b);
Value less(Builder& builder, Value a, Value b);
Value greater_equal(Builder& builder, Value a, Value b);
Value is_finite(Builder& builder, Value x);
Value select(Builder& builder, Value condition, Value a, Value b);

}  // namespace toroid
