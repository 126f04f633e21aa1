#include "toroid/ops/avg_pool.h"

#include "toroid/base/error.h"
#include "toroid/ops/checks.h"

namespace toroid {
namespace {

Cost pool_cost(Types inputs, Types outputs, const TensorType& y,
               std::array<std::int64_t, 2> window) {
  return memory_cost(inputs, outputs, static_cast<double>(y.elements() * window[0] * window[1]));
}

}  // namespace

std::vector<TensorType> AvgPool::infer(Types inputs) const {
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

Gradient AvgPool::gradient(GradientContext& context) const {
  const Shape& x = context.input_type(0).shape;
  return std::vector<Value>{
      context.builder().add(AvgPoolGradient{.window = window,
                                            .stride = stride,
                                            .padding = padding,
                                            .count_include_padding = count_include_padding,
                                            .input_size = {x[1], x[2]}},
                            {context.output_gradient()})};
}

Cost AvgPool::cost(Types inputs, Types outputs) const {
  return pool_cost(inputs, outputs, outputs[0], window);
}

std::vector<TensorType> AvgPoolGradient::infer(Types inputs) const {
  expect_operands(inputs, 1);
  const TensorType& dy = inputs[0];
  expect_rank(dy, 4, "dy");
  const TensorType x{dy.dtype, Shape{dy.shape[0], input_size[0], input_size[1], dy.shape[3]}};
  const AvgPool forward{.window = window, .stride = stride, .padding = padding};
  expect_type(dy, forward.infer({&x, 1})[0], "dy");
  return {x};
}

Gradient AvgPoolGradient::gradient(GradientContext& context) const {
  return std::vector<Value>{avg_pool(context.builder(), context.output_gradient(),
                                     {.window = window,
                                      .stride = stride,
                                      .padding = padding,
                                      .count_include_padding = count_include_padding})};
}

Cost AvgPoolGradient::cost(Types inputs, Types outputs) const {
  return pool_cost(inputs, outputs, inputs[0], window);
}

Value avg_pool(Builder& builder, Value x, AvgPool attributes) {
  return builder.add(attributes, {x});
}

}  // namespace toroid
