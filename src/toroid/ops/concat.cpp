#include "toroid/ops/concat.h"

#include "toroid/base/error.h"
#include "toroid/ops/checks.h"
#include "toroid/ops/constant.h"

namespace toroid {
namespace {

void expect_axis(const TensorType& x, std::int64_t axis) {
  if (axis < 0 || axis >= x.shape.rank()) {
    fail("the axis must be below the rank of {}, is {}", x.str(), axis);
  }
}

}  // namespace

std::vector<TensorType> Concat::infer(Types inputs) const {
  if (inputs.empty()) fail("takes at least one operand, got none");
  expect_float(inputs[0], "operand 0");
  expect_axis(inputs[0], axis);
  const int at = static_cast<int>(axis);
  TensorType result = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    TensorType wanted = inputs[0];
    if (inputs[i].shape.rank() == wanted.shape.rank()) wanted.shape[at] = inputs[i].shape[at];
    if (inputs[i] != wanted) {
      fail("operand {}, {}, must be like operand 0, {}, in all but dimension {}", i,
           inputs[i].str(), inputs[0].str(), axis);
    }
    result.shape[at] += inputs[i].shape[at];
  }
  return {result};
}

Gradient Concat::gradient(GradientContext& context) const {
  std::vector<Value> gradients;
  std::int64_t start = 0;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const std::int64_t limit = start + context.input_type(i).shape[static_cast<int>(axis)];
    gradients.push_back(slice(context.builder(), context.output_gradient(),
                              {.axis = axis, .start = start, .limit = limit}));
    start = limit;
  }
  return gradients;
}

std::vector<TensorType> Slice::infer(Types inputs) const {
  expect_operands(inputs, 1);
  expect_float(inputs[0], "x");
  expect_axis(inputs[0], axis);
  TensorType result = inputs[0];
  std::int64_t& size = result.shape[static_cast<int>(axis)];
  if (start < 0 || limit > size || start >= limit) {
    fail("no slice {} .. {} of {} along axis {}", start, limit, inputs[0].str(), axis);
  }
  size = limit - start;
  return {result};
}

// Zeros take the place of what was cut off.
Gradient Slice::gradient(GradientContext& context) const {
  Builder& builder = context.builder();
  const TensorType& x = context.input_type(0);
  const std::int64_t size = x.shape[static_cast<int>(axis)];
  std::vector<Value> parts;
  const auto add_zeros = [&](std::int64_t count) {
    if (count == 0) return;
    TensorType zeros = x;
    zeros.shape[static_cast<int>(axis)] = count;
    parts.push_back(constant(builder, 0, zeros));
  };
  add_zeros(start);
  parts.push_back(context.output_gradient());
  add_zeros(size - limit);
  return std::vector<Value>{concat(builder, std::move(parts), axis)};
}

Value concat(Builder& builder, std::vector<Value> values, std::int64_t axis) {
  return builder.add(Concat{.axis = axis}, std::move(values));
}
Value slice(Builder& builder, Value x, Slice attributes) {
  return builder.add(attributes, {x});
}

AxisView::AxisView(const Shape& shape, std::int64_t axis) : size(shape[static_cast<int>(axis)]) {
  for (int i = 0; i < shape.rank(); ++i) {
    if (i < axis) rows *= shape[i];
    if (i > axis) inner *= shape[i];
  }
}

}  // namespace toroid
