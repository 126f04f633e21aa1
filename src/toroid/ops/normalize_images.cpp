#include "toroid/ops/normalize_images.h"

#include "toroid/base/error.h"
#include "toroid/ops/checks.h"

namespace toroid {

std::vector<TensorType> NormalizeImages::infer(Types inputs) const {
  expect_operands(inputs, 1);
  expect_rank(inputs[0], 4, "images");
  expect_dtype(inputs[0], DType::u8, "images");
  const auto channels = static_cast<std::size_t>(inputs[0].shape[3]);
  if (mean.size() != channels || scale.size() != channels) {
    fail("{} means and {} scales given for {} channels", mean.size(), scale.size(), channels);
  }
  if (!is_float(dtype)) fail("the result must have a float type, not {}", name_of(dtype));
  return {{dtype, inputs[0].shape}};
}

Gradient NormalizeImages::gradient(GradientContext&) const {
  return NotDifferentiable{"its operand holds integers"};
}

Cost NormalizeImages::cost(Types inputs, Types outputs) const {
  return memory_cost(inputs, outputs, 2.0 * static_cast<double>(outputs[0].elements()));
}

Value normalize_images(Builder& builder, Value images, NormalizeImages attributes) {
  return builder.add(std::move(attributes), {images});
}

}  // namespace toroid
