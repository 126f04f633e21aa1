#include "toroid/ops/conv2d.h"

#include <fmt/format.h>

#include <algorithm>

#include "toroid/base/error.h"
#include "toroid/ops/checks.h"

namespace toroid {
namespace {

using Size = std::array<std::int64_t, 2>;

NotDifferentiable second_order() {
  return {"second derivatives of convolutions are not needed to train"};
}

// That the groups divide the input's channels and the filters.
void expect_groups(std::int64_t groups, std::int64_t channels, std::int64_t filters) {
  if (groups < 1) fail("groups must be at least 1, is {}", groups);
  if (channels % groups != 0 || filters % groups != 0) {
    fail("{} groups must divide the {} input channels and the {} filters", groups, channels,
         filters);
  }
}

// Output height and width for types x [N,H,W,C] and kernel [kh,kw,C/G,K] that fit each other.
Size output_size(const Shape& x, const Shape& kernel, Size stride, Padding padding) {
  return window_output({x[1], x[2]}, {kernel[0], kernel[1]}, stride, padding);
}

void expect_output(const TensorType& dy, Size size, std::string_view from) {
  if (dy.shape[1] != size[0] || dy.shape[2] != size[1]) {
    fail("dy must be [N,{},{},K] for this {}, is {}", size[0], size[1], from, dy.str());
  }
}

// 2 * multiply-adds of the forward convolution; both gradients have as many.
double convolution_flops(const Shape& y, const Shape& kernel) {
  return 2.0 * static_cast<double>(y.elements()) *
         static_cast<double>(kernel[0] * kernel[1] * kernel[2]);
}

}  // namespace

Size window_output(Size input, Size window, Size stride, Padding padding) {
  Size output{};
  for (std::size_t i = 0; i < 2; ++i) {
    if (stride[i] < 1) fail("the stride must be at least 1, is {}", stride[i]);
    if (padding[2 * i] < 0 || padding[2 * i + 1] < 0) fail("the padding must not be negative");
    const std::int64_t padded = input[i] + padding[2 * i] + padding[2 * i + 1];
    if (window[i] < 1 || padded < window[i]) {
      fail("the window of {} does not fit the padded {} of {}", window[i],
           i == 0 ? "height" : "width", padded);
    }
    output[i] = (padded - window[i]) / stride[i] + 1;
  }
  return output;
}

Padding same_padding(Size input, Size window, Size stride) {
  Padding padding{};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t output = (input[i] + stride[i] - 1) / stride[i];
    const std::int64_t total =
        std::max<std::int64_t>((output - 1) * stride[i] + window[i] - input[i], 0);
    padding[2 * i] = total / 2;
    padding[2 * i + 1] = total - total / 2;
  }
  return padding;
}

std::vector<TensorType> Conv2d::infer(Types inputs) const {
  expect_operands(inputs, 2);
  const TensorType& x = inputs[0];
  const TensorType& kernel = inputs[1];
  expect_rank(x, 4, "x");
  expect_rank(kernel, 4, "kernel");
  expect_float(x, "x");
  expect_dtype(kernel, x.dtype, "kernel");
  expect_groups(groups, x.shape[3], kernel.shape[3]);
  if (kernel.shape[2] * groups != x.shape[3]) {
    fail("the kernel expects {} input channels{}, x has {}", kernel.shape[2],
         groups == 1 ? "" : fmt::format(" in each of {} groups", groups), x.shape[3]);
  }
  const Size size = output_size(x.shape, kernel.shape, stride, padding);
  return {{x.dtype, Shape{x.shape[0], size[0], size[1], kernel.shape[3]}}};
}

Gradient Conv2d::gradient(GradientContext& context) const {
  const Shape& x = context.input_type(0).shape;
  const Shape& kernel = context.input_type(1).shape;
  Builder& builder = context.builder();
  const Size input_size{x[1], x[2]};
  const Size kernel_size{kernel[0], kernel[1]};
  const Value dy = context.output_gradient();
  const Value dx = builder.add(
      Conv2dInputGradient{
          .stride = stride, .padding = padding, .input_size = input_size, .groups = groups},
      {dy, context.input(1)});
  const Value dkernel = builder.add(
      Conv2dKernelGradient{
          .stride = stride, .padding = padding, .kernel_size = kernel_size, .groups = groups},
      {context.input(0), dy});
  return std::vector<Value>{dx, dkernel};
}

Cost Conv2d::cost(Types inputs, Types outputs) const {
  return memory_cost(inputs, outputs, convolution_flops(outputs[0].shape, inputs[1].shape));
}

std::vector<TensorType> Conv2dInputGradient::infer(Types inputs) const {
  expect_operands(inputs, 2);
  const TensorType& dy = inputs[0];
  const TensorType& kernel = inputs[1];
  expect_rank(dy, 4, "dy");
  expect_rank(kernel, 4, "kernel");
  expect_float(dy, "dy");
  expect_dtype(kernel, dy.dtype, "kernel");
  if (kernel.shape[3] != dy.shape[3]) {
    fail("the kernel has {} output channels, dy has {}", kernel.shape[3], dy.shape[3]);
  }
  const Shape x{dy.shape[0], input_size[0], input_size[1], kernel.shape[2] * groups};
  expect_groups(groups, x[3], kernel.shape[3]);
  expect_output(dy, output_size(x, kernel.shape, stride, padding), "input size");
  return {{dy.dtype, x}};
}

Gradient Conv2dInputGradient::gradient(GradientContext&) const {
  return second_order();
}

Cost Conv2dInputGradient::cost(Types inputs, Types outputs) const {
  return memory_cost(inputs, outputs, convolution_flops(inputs[0].shape, inputs[1].shape));
}

std::vector<TensorType> Conv2dKernelGradient::infer(Types inputs) const {
  expect_operands(inputs, 2);
  const TensorType& x = inputs[0];
  const TensorType& dy = inputs[1];
  expect_rank(x, 4, "x");
  expect_rank(dy, 4, "dy");
  expect_float(x, "x");
  expect_dtype(dy, x.dtype, "dy");
  if (x.shape[0] != dy.shape[0]) fail("x has {} examples, dy has {}", x.shape[0], dy.shape[0]);
  expect_groups(groups, x.shape[3], dy.shape[3]);
  const Shape kernel{kernel_size[0], kernel_size[1], x.shape[3] / groups, dy.shape[3]};
  expect_output(dy, output_size(x.shape, kernel, stride, padding), "x and kernel size");
  return {{x.dtype == DType::bf16 ? DType::f32 : x.dtype, kernel}};
}

Gradient Conv2dKernelGradient::gradient(GradientContext&) const {
  return second_order();
}

Cost Conv2dKernelGradient::cost(Types inputs, Types outputs) const {
  return memory_cost(inputs, outputs, convolution_flops(inputs[1].shape, outputs[0].shape));
}

Value conv2d(Builder& builder, Value x, Value kernel, Conv2d attributes) {
  return builder.add(attributes, {x, kernel});
}

}  // namespace toroid
