#include "toroid/ops/constant.h"

#include "toroid/ops/checks.h"

namespace toroid {

std::vector<TensorType> Constant::infer(Types inputs) const {
  expect_operands(inputs, 0);
  return {type};
}

Gradient Constant::gradient(GradientContext&) const {
  return std::vector<Value>{};
}

std::vector<TensorType> Convert::infer(Types inputs) const {
  expect_operands(inputs, 1);
  return {{dtype, inputs[0].shape}};
}

Gradient Convert::gradient(GradientContext& context) const {
  const DType from = context.input_type(0).dtype;
  if (!is_float(from) || !is_float(dtype)) return std::vector<Value>{Value{}};
  return std::vector<Value>{convert(context.builder(), context.output_gradient(), from)};
}

Value constant(Builder& builder, double value, const TensorType& type) {
  return builder.add(Constant{.value = value, .type = type}, {});
}

Value constant(Builder& builder, double value, DType dtype) {
  return constant(builder, value, TensorType{dtype, Shape{}});
}

Value convert(Builder& builder, Value x, DType dtype) {
  return builder.type(x).dtype == dtype ? x : builder.add(Convert{.dtype = dtype}, {x});
}

}  // namespace toroid
