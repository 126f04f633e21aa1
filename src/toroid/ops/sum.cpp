#include "toroid/ops/sum.h"

#include <algorithm>

#include "toroid/base/error.h"
#include "toroid/ops/checks.h"
#include "toroid/ops/elementwise.h"

namespace toroid {
namespace {

double elements_of(Types types) {
  double elements = 0;
  for (const TensorType& type : types) elements += static_cast<double>(type.elements());
  return elements;
}

// `shape` without `axes`, which must be ascending axes of it.
Shape without(const Shape& shape, const std::vector<std::int64_t>& axes) {
  std::int64_t previous = -1;
  for (const std::int64_t axis : axes) {
    if (axis <= previous || axis >= shape.rank()) {
      fail("axes must be ascending and below {}, axis {} is not", shape.rank(), axis);
    }
    previous = axis;
  }
  std::vector<std::int64_t> dims;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) dims.push_back(shape[axis]);
  }
  return Shape(std::move(dims));
}

}  // namespace

std::vector<TensorType> Sum::infer(Types inputs) const {
  expect_operands(inputs, 1);
  expect_float(inputs[0], "x");
  return {{inputs[0].dtype, without(inputs[0].shape, axes)}};
}

Gradient Sum::gradient(GradientContext& context) const {
  return std::vector<Value>{
      broadcast(context.builder(), context.output_gradient(), context.input_type(0).shape, axes)};
}

Cost Sum::cost(Types inputs, Types outputs) const {
  return memory_cost(inputs, outputs, elements_of(inputs));
}

std::vector<TensorType> Broadcast::infer(Types inputs) const {
  expect_operands(inputs, 1);
  const Shape kept = without(shape, axes);
  if (kept != inputs[0].shape) {
    fail("{} without the new axes is {}, x is {}", shape.str(), kept.str(), inputs[0].str());
  }
  return {{inputs[0].dtype, shape}};
}

Gradient Broadcast::gradient(GradientContext& context) const {
  return std::vector<Value>{sum(context.builder(), context.output_gradient(), axes)};
}

std::vector<TensorType> SumSquares::infer(Types inputs) const {
  if (inputs.empty()) fail("takes at least one operand");
  expect_float(inputs[0], "the first operand");
  for (const TensorType& type : inputs) expect_dtype(type, inputs[0].dtype, "each operand");
  return {{inputs[0].dtype, Shape{}}};
}

Gradient SumSquares::gradient(GradientContext& context) const {
  Builder& builder = context.builder();
  const Value twice = multiply(builder, context.output_gradient(), 2.0);
  std::vector<Value> gradients;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    gradients.push_back(multiply(builder, context.input(i), twice));
  }
  return gradients;
}

Cost SumSquares::cost(Types inputs, Types outputs) const {
  return memory_cost(inputs, outputs, 2.0 * elements_of(inputs));
}

std::vector<TensorType> Reshape::infer(Types inputs) const {
  expect_operands(inputs, 1);
  if (shape.elements() != inputs[0].elements()) {
    fail("{} elements do not fit {}", inputs[0].elements(), shape.str());
  }
  return {{inputs[0].dtype, shape}};
}

Gradient Reshape::gradient(GradientContext& context) const {
  return std::vector<Value>{
      reshape(context.builder(), context.output_gradient(), context.input_type(0).shape)};
}

Value sum(Builder& builder, Value x, std::vector<std::int64_t> axes) {
  return axes.empty() ? x : builder.add(Sum{.axes = std::move(axes)}, {x});
}

Value sum(Builder& builder, Value x) {
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis < builder.type(x).shape.rank(); ++axis) axes.push_back(axis);
  return sum(builder, x, std::move(axes));
}

Value broadcast(Builder& builder, Value x, Shape shape, std::vector<std::int64_t> axes) {
  if (axes.empty()) return x;
  return builder.add(Broadcast{.shape = std::move(shape), .axes = std::move(axes)}, {x});
}

Value sum_squares(Builder& builder, std::vector<Value> values) {
  return builder.add(SumSquares{}, std::move(values));
}

Value reshape(Builder& builder, Value x, Shape shape) {
  return builder.add(Reshape{.shape = std::move(shape)}, {x});
}

}  // namespace toroid
