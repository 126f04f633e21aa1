#include "toroid/ops/relu.h"

#include "toroid/ops/checks.h"

namespace toroid {

std::vector<TensorType> Relu::infer(Types inputs) const {
  expect_operands(inputs, 1);
  expect_float(inputs[0], "x");
  return {inputs[0]};
}

Gradient Relu::gradient(GradientContext& context) const {
  return std::vector<Value>{
      context.builder().add(ReluGradient{}, {context.output_gradient(), context.output()})};
}

Cost Relu::cost(Types inputs, Types outputs) const {
  return memory_cost(inputs, outputs, static_cast<double>(outputs[0].elements()));
}

std::vector<TensorType> ReluGradient::infer(Types inputs) const {
  expect_operands(inputs, 2, kMostGradients + 1);
  expect_float(inputs[0], "dy");
  expect_type(inputs[1], inputs[0], "y");
  for (std::size_t i = 2; i < inputs.size(); ++i) expect_type(inputs[i], inputs[0], "dy");
  return {inputs[0]};
}

Gradient ReluGradient::gradient(GradientContext&) const {
  return NotDifferentiable{"the second derivative of relu is zero almost everywhere"};
}

Cost ReluGradient::cost(Types inputs, Types outputs) const {
  const double per_element = static_cast<double>(inputs.size()) - 1;
  return memory_cost(inputs, outputs, per_element * static_cast<double>(outputs[0].elements()));
}

Value relu(Builder& builder, Value x) {
  return builder.add(Relu{}, {x});
}

}  // namespace toroid
