#include "toroid/ops/matmul.h"

#include "toroid/base/error.h"
#include "toroid/ops/checks.h"
#include "toroid/ops/sum.h"

namespace toroid {

std::vector<TensorType> Matmul::infer(Types inputs) const {
  expect_operands(inputs, 2);
  const TensorType& a = inputs[0];
  const TensorType& b = inputs[1];
  expect_rank(a, 2, "a");
  expect_rank(b, 2, "b");
  expect_float(a, "a");
  expect_dtype(b, a.dtype, "b");
  const std::int64_t inner_a = a.shape[transpose_a ? 0 : 1];
  const std::int64_t inner_b = b.shape[transpose_b ? 1 : 0];
  if (inner_a != inner_b) fail("the inner dimensions differ: {} and {}", inner_a, inner_b);
  const DType product = a.dtype == DType::bf16 ? DType::f32 : a.dtype;
  return {{product, Shape{a.shape[transpose_a ? 1 : 0], b.shape[transpose_b ? 0 : 1]}}};
}

Gradient Matmul::gradient(GradientContext& context) const {
  // With A = op(a), B = op(b), Y = A B: dA = dY B^T and dB = A^T dY, transposed back.
  Builder& builder = context.builder();
  const Value a = context.input(0);
  const Value b = context.input(1);
  const Value dy = context.output_gradient();
  const Value da = transpose_a
                       ? matmul(builder, b, dy, {.transpose_a = transpose_b, .transpose_b = true})
                       : matmul(builder, dy, b, {.transpose_b = !transpose_b});
  const Value db = transpose_b
                       ? matmul(builder, dy, a, {.transpose_a = true, .transpose_b = transpose_a})
                       : matmul(builder, a, dy, {.transpose_a = !transpose_a});
  return std::vector<Value>{da, db};
}

Cost Matmul::cost(Types inputs, Types outputs) const {
  const double inner = static_cast<double>(inputs[0].shape[transpose_a ? 0 : 1]);
  return memory_cost(inputs, outputs, 2.0 * inner * static_cast<double>(outputs[0].elements()));
}

std::vector<TensorType> AddBias::infer(Types inputs) const {
  expect_operands(inputs, 2);
  expect_float(inputs[0], "x");
  if (inputs[0].shape.rank() < 1) fail("x must have at least one axis");
  expect_type(inputs[1], {inputs[0].dtype, Shape{inputs[0].shape.back()}}, "bias");
  return {inputs[0]};
}

Gradient AddBias::gradient(GradientContext& context) const {
  const Value dy = context.output_gradient();
  std::vector<std::int64_t> leading;
  for (int axis = 0; axis + 1 < context.input_type(0).shape.rank(); ++axis) leading.push_back(axis);
  return std::vector<Value>{dy, sum(context.builder(), dy, leading)};
}

Cost AddBias::cost(Types inputs, Types outputs) const {
  return memory_cost(inputs, outputs, static_cast<double>(outputs[0].elements()));
}

Value matmul(Builder& builder, Value a, Value b, Matmul attributes) {
  return builder.add(attributes, {a, b});
}

Value add_bias(Builder& builder, Value x, Value bias) {
  return builder.add(AddBias{}, {x, bias});
}

}  // namespace toroid
