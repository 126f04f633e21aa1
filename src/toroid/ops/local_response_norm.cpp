#include "toroid/ops/local_response_norm.h"

#include "toroid/base/error.h"
#include "toroid/ops/checks.h"

namespace toroid {

std::vector<TensorType> LocalResponseNorm::infer(Types inputs) const {
  expect_operands(inputs, 1);
  expect_rank(inputs[0], 4, "x");
  expect_float(inputs[0], "x");
  if (size < 1 || size % 2 == 0) fail("the size must be odd and positive, is {}", size);
  if (!(k > 0) || !(alpha >= 0))
    fail("k must be above 0 and alpha at least 0, are {} and {}", k, alpha);
  return {inputs[0]};
}

Gradient LocalResponseNorm::gradient(GradientContext& context) const {
  return std::vector<Value>{context.builder().add(
      LocalResponseNormGradient{.size = size, .k = k, .alpha = alpha, .beta = beta},
      {context.input(0), context.output_gradient()})};
}

// A square and the window's additions, and about 8 for the power.
Cost LocalResponseNorm::cost(Types inputs, Types outputs) const {
  return memory_cost(inputs, outputs, static_cast<double>(inputs[0].elements() * (size + 10)));
}

std::vector<TensorType> LocalResponseNormGradient::infer(Types inputs) const {
  expect_operands(inputs, 2);
  const LocalResponseNorm forward{.size = size, .k = k, .alpha = alpha, .beta = beta};
  expect_type(inputs[1], forward.infer(inputs.first(1))[0], "dy");
  return {inputs[0]};
}

Gradient LocalResponseNormGradient::gradient(GradientContext&) const {
  return NotDifferentiable{
      "second derivatives of local response normalization are not needed to train"};
}

Cost LocalResponseNormGradient::cost(Types inputs, Types outputs) const {
  return memory_cost(inputs, outputs, static_cast<double>(inputs[0].elements() * (2 * size + 16)));
}

Value local_response_norm(Builder& builder, Value x, LocalResponseNorm attributes) {
  return builder.add(attributes, {x});
}

}  // namespace toroid
