#include "toroid/ops/max_pool.h"

#include <algorithm>

#include "toroid/base/error.h"
#include "toroid/ops/checks.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/sum.h"

namespace toroid {

std::vector<TensorType> MaxPool::infer(Types inputs) const {
  expect_operands(inputs, 1);
  const TensorType& x = inputs[0];
  expect_rank(x, 4, "x");
  expect_float(x, "x");
  if (std::max(padding[0], padding[1]) >= window[0] ||
      std::max(padding[2], padding[3]) >= window[1]) {
    fail("the padding must be smaller than the window");
  }
  const auto size = window_output({x.shape[1], x.shape[2]}, window, stride, padding);
  return {{x.dtype, Shape{x.shape[0], size[0], size[1], x.shape[3]}}};
}

Gradient MaxPool::gradient(GradientContext& context) const {
  return std::vector<Value>{
      context.builder().add(MaxPoolGradient{.window = window, .stride = stride, .padding = padding},
                            {context.input(0), context.output_gradient()})};
}

Cost MaxPool::cost(Types inputs, Types outputs) const {
  const double compared = static_cast<double>(outputs[0].elements() * window[0] * window[1]);
  return memory_cost(inputs, outputs, compared);
}

std::vector<TensorType> MaxPoolGradient::infer(Types inputs) const {
  expect_operands(inputs, 2);
  const MaxPool forward{.window = window, .stride = stride, .padding = padding};
  expect_type(inputs[1], forward.infer(inputs.first(1))[0], "dy");
  return {inputs[0]};
}

Gradient MaxPoolGradient::gradient(GradientContext&) const {
  return NotDifferentiable{"the second derivative of max_pool is zero almost everywhere"};
}

Cost MaxPoolGradient::cost(Types inputs, Types outputs) const {
  const double compared = static_cast<double>(inputs[1].elements() * window[0] * window[1]);
  return memory_cost(inputs, outputs, compared);
}

Value max_pool(Builder& builder, Value x, MaxPool attributes) {
  return builder.add(attributes, {x});
}

Value global_average_pool(Builder& builder, Value x) {
  const Shape shape = builder.type(x).shape;
  if (shape.rank() != 4) fail("global_average_pool: x must have rank 4, is {}", shape.str());
  return multiply(builder, sum(builder, x, {1, 2}), 1.0 / static_cast<double>(shape[1] * shape[2]));
}

}  // namespace toroid
