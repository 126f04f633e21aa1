#include "toroid/ops/elementwise.h"

#include "toroid/base/error.h"
#include "toroid/ops/checks.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/sum.h"

namespace toroid {
namespace {

// The common shape of two operands of which either may be a scalar.
Shape common_shape(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype) fail("the operands' types differ: {} and {}", a.str(), b.str());
  if (b.shape.is_scalar() || a.shape == b.shape) return a.shape;
  if (a.shape.is_scalar()) return b.shape;
  fail("the operands' shapes differ: {} and {}", a.str(), b.str());
}

Cost elementwise_cost(Types inputs, Types outputs) {
  return memory_cost(inputs, outputs, static_cast<double>(outputs[0].elements()));
}

// A gradient of the result's shape, summed to a scalar where the operand was one.
Value reduce_like(GradientContext& context, Value gradient, std::size_t operand) {
  const bool scalar = context.input_type(operand).shape.is_scalar();
  return scalar ? sum(context.builder(), gradient) : gradient;
}

// The pieces of `like`'s shape that a condition chooses, zero elsewhere.
Value where(Builder& builder, Value condition, Value gradient, bool chosen) {
  const Value zero = constant(builder, 0, builder.type(gradient));
  return chosen ? select(builder, condition, gradient, zero)
                : select(builder, condition, zero, gradient);
}

}  // namespace

std::string_view name_of(UnaryKind kind) {
  switch (kind) {
    case UnaryKind::kNegate:
      return "negate";
    case UnaryKind::kExp:
      return "exp";
    case UnaryKind::kExpm1:
      return "expm1";
    case UnaryKind::kLog:
      return "log";
    case UnaryKind::kSqrt:
      return "sqrt";
  }
  return "?";
}

std::string_view name_of(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAdd:
      return "add";
    case BinaryKind::kSubtract:
      return "subtract";
    case BinaryKind::kMultiply:
      return "multiply";
    case BinaryKind::kDivide:
      return "divide";
    case BinaryKind::kMaximum:
      return "maximum";
  }
  return "?";
}

std::string_view name_of(CompareKind kind) {
  switch (kind) {
    case CompareKind::kEqual:
      return "equal";
    case CompareKind::kLess:
      return "less";
    case CompareKind::kGreaterEqual:
      return "greater_equal";
  }
  return "?";
}

std::vector<TensorType> Unary::infer(Types inputs) const {
  expect_operands(inputs, 1);
  expect_float(inputs[0], "x");
  return {inputs[0]};
}

Gradient Unary::gradient(GradientContext& context) const {
  Builder& builder = context.builder();
  const Value dy = context.output_gradient();
  const Value y = context.output();
  switch (kind) {
    case UnaryKind::kNegate:
      return std::vector<Value>{negate(builder, dy)};
    case UnaryKind::kExp:
      return std::vector<Value>{multiply(builder, dy, y)};
    case UnaryKind::kExpm1:
      return std::vector<Value>{multiply(builder, dy, add(builder, y, 1.0))};
    case UnaryKind::kLog:
      return std::vector<Value>{divide(builder, dy, context.input(0))};
    case UnaryKind::kSqrt:
      return std::vector<Value>{divide(builder, multiply(builder, dy, 0.5), y)};
  }
  return std::vector<Value>{};
}

Cost Unary::cost(Types inputs, Types outputs) const {
  return elementwise_cost(inputs, outputs);
}

std::vector<TensorType> Binary::infer(Types inputs) const {
  expect_operands(inputs, 2);
  expect_float(inputs[0], "a");
  return {{inputs[0].dtype, common_shape(inputs[0], inputs[1])}};
}

Gradient Binary::gradient(GradientContext& context) const {
  Builder& builder = context.builder();
  const Value a = context.input(0);
  const Value b = context.input(1);
  const Value dy = context.output_gradient();
  Value da, db;
  switch (kind) {
    case BinaryKind::kAdd:
      da = db = dy;
      break;
    case BinaryKind::kSubtract:
      da = dy;
      db = negate(builder, dy);
      break;
    case BinaryKind::kMultiply:
      da = multiply(builder, dy, b);
      db = multiply(builder, dy, a);
      break;
    case BinaryKind::kDivide:
      da = divide(builder, dy, b);
      db = negate(builder, multiply(builder, da, context.output()));
      break;
    case BinaryKind::kMaximum: {
      const Value a_wins = greater_equal(builder, a, b);
      da = where(builder, a_wins, dy, true);
      db = where(builder, a_wins, dy, false);
      break;
    }
  }
  return std::vector<Value>{reduce_like(context, da, 0), reduce_like(context, db, 1)};
}

Cost Binary::cost(Types inputs, Types outputs) const {
  return elementwise_cost(inputs, outputs);
}

std::vector<TensorType> Compare::infer(Types inputs) const {
  expect_operands(inputs, 2);
  return {{DType::boolean, common_shape(inputs[0], inputs[1])}};
}

Gradient Compare::gradient(GradientContext&) const {
  return NotDifferentiable{"a comparison is piecewise constant"};
}

Cost Compare::cost(Types inputs, Types outputs) const {
  return elementwise_cost(inputs, outputs);
}

std::vector<TensorType> IsFinite::infer(Types inputs) const {
  expect_operands(inputs, 1);
  expect_float(inputs[0], "x");
  return {{DType::boolean, inputs[0].shape}};
}

Gradient IsFinite::gradient(GradientContext&) const {
  return NotDifferentiable{"a predicate is piecewise constant"};
}

Cost IsFinite::cost(Types inputs, Types outputs) const {
  return elementwise_cost(inputs, outputs);
}

std::vector<TensorType> Select::infer(Types inputs) const {
  expect_operands(inputs, 3);
  expect_dtype(inputs[0], DType::boolean, "the condition");
  expect_type(inputs[2], inputs[1], "b");
  if (!inputs[0].shape.is_scalar() && inputs[0].shape != inputs[1].shape) {
    fail("the condition must be a scalar or {}, is {}", inputs[1].shape.str(), inputs[0].str());
  }
  return {inputs[1]};
}

Gradient Select::gradient(GradientContext& context) const {
  Builder& builder = context.builder();
  const Value condition = context.input(0);
  const Value dy = context.output_gradient();
  return std::vector<Value>{Value{}, where(builder, condition, dy, true),
                            where(builder, condition, dy, false)};
}

Cost Select::cost(Types inputs, Types outputs) const {
  return elementwise_cost(inputs, outputs);
}

Value negate(Builder& builder, Value x) {
  return builder.add(Unary{UnaryKind::kNegate}, {x});
}
Value exp(Builder& builder, Value x) {
  return builder.add(Unary{UnaryKind::kExp}, {x});
}
Value expm1(Builder& builder, Value x) {
  return builder.add(Unary{UnaryKind::kExpm1}, {x});
}
Value log(Builder& builder, Value x) {
  return builder.add(Unary{UnaryKind::kLog}, {x});
}
Value sqrt(Builder& builder, Value x) {
  return builder.add(Unary{UnaryKind::kSqrt}, {x});
}

Value add(Builder& builder, Value a, Value b) {
  return builder.add(Binary{BinaryKind::kAdd}, {a, b});
}
Value subtract(Builder& builder, Value a, Value b) {
  return builder.add(Binary{BinaryKind::kSubtract}, {a, b});
}
Value multiply(Builder& builder, Value a, Value b) {
  return builder.add(Binary{BinaryKind::kMultiply}, {a, b});
}
Value divide(Builder& builder, Value a, Value b) {
  return builder.add(Binary{BinaryKind::kDivide}, {a, b});
}
Value maximum(Builder& builder, Value a, Value b) {
  return builder.add(Binary{BinaryKind::kMaximum}, {a, b});
}

Value add(Builder& builder, Value a, double b) {
  return add(builder, a, constant(builder, b, builder.type(a).dtype));
}
Value subtract(Builder& builder, double a, Value b) {
  return subtract(builder, constant(builder, a, builder.type(b).dtype), b);
}
Value multiply(Builder& builder, Value a, double b) {
  return multiply(builder, a, constant(builder, b, builder.type(a).dtype));
}
Value maximum(Builder& builder, Value a, double b) {
  return maximum(builder, a, constant(builder, b, builder.type(a).dtype));
}

Value less(Builder& builder, Value a, Value b) {
  return builder.add(Compare{CompareKind::kLess}, {a, b});
}
Value greater_equal(Builder& builder, Value a, Value b) {
  return builder.add(Compare{CompareKind::kGreaterEqual}, {a, b});
}
Value is_finite(Builder& builder, Value x) {
  return builder.add(IsFinite{}, {x});
}
Value select(Builder& builder, Value condition, Value a, Value b) {
  return builder.add(Select{}, {condition, a, b});
}

}  // namespace toroid
