#include "toroid/ops/dropout.h"

#include "toroid/base/error.h"
#include "toroid/ops/checks.h"

namespace toroid {

std::vector<TensorType> Dropout::infer(Types inputs) const {
  expect_operands(inputs, 4);
  const TensorType& x = inputs[0];
  expect_float(x, "x");
  if (x.shape.is_scalar()) fail("x must be [N,...], is {}", x.str());
  expect_type(inputs[1], {DType::u32, Shape{x.shape[0]}}, "ids");
  expect_type(inputs[2], {DType::u32, Shape{}}, "the seed");
  expect_type(inputs[3], {DType::i32, Shape{}}, "the step");
  if (!(rate >= 0 && rate < 1)) fail("the rate must be in [0, 1), is {}", rate);
  return {x};
}

Gradient Dropout::gradient(GradientContext& context) const {
  const Value dx = dropout(context.builder(), context.output_gradient(), context.input(1),
                           context.input(2), context.input(3), *this);
  return std::vector<Value>{dx, Value{}, Value{}, Value{}};
}

Cost Dropout::cost(Types inputs, Types outputs) const {
  return memory_cost(inputs, outputs, static_cast<double>(outputs[0].elements()));
}

Value dropout(Builder& builder, Value x, Value ids, Value seed, Value step, Dropout attributes) {
  return builder.add(attributes, {x, ids, seed, step});
}

}  // namespace toroid
