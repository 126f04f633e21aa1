#include "toroid/ops/conv2d.h"

#include <fmt/format.h>

#include "toroid/backends/xla/emitters.h"

namespace toroid {
namespace {

using Size = std::array<std::int64_t, 2>;

struct Convolution {
  std::string_view dim_numbers;
  Size stride{1, 1};
  Padding padding{};  // top, bottom, left, right; negative crops
  Size lhs_dilate{1, 1}, rhs_dilate{1, 1};
  bool reverse = false;  // the window in both directions
  // Groups of the left operand's features, or of its batch: each meets its own part of the right
  // operand's output features.
  std::int64_t feature_groups = 1, batch_groups = 1;
};

Ssa convolution(StablehloText& text, const Ssa& lhs, const Ssa& rhs, const TensorType& result,
                const Convolution& c) {
  const Padding& p = c.padding;
  return text.line(
      result,
      fmt::format("stablehlo.convolution({}, {}) dim_numbers = {}, window = {{stride = {}, "
                  "pad = [[{}, {}], [{}, {}]], lhs_dilate = {}, rhs_dilate = {}, "
                  "reverse = [{}, {}]}} {{batch_group_count = {} : i64, "
                  "feature_group_count = {} : i64, precision_config = [#stablehlo<precision {}>, "
                  "#stablehlo<precision {}>]}} : ({}, {}) -> {}",
                  lhs.name, rhs.name, c.dim_numbers, mlir_list(c.stride), p[0], p[1], p[2], p[3],
                  mlir_list(c.lhs_dilate), mlir_list(c.rhs_dilate), c.reverse, c.reverse,
                  c.batch_groups, c.feature_groups, product_precision(lhs.type.dtype),
                  product_precision(lhs.type.dtype), mlir_type(lhs.type), mlir_type(rhs.type),
                  mlir_type(result)));
}

// kernel [kh,kw,C/G,K] -> [kh,kw,C,K/G]: each group's channels behind those of the one before.
Ssa groups_before_channels(StablehloText& text, const Ssa& kernel, std::int64_t groups) {
  if (groups == 1) return kernel;
  const Shape& from = kernel.type.shape;
  const std::int64_t filters = from[3] / groups;
  const Ssa split = text.reshape(kernel, {from[0], from[1], from[2], groups, filters});
  return text.reshape(text.transpose(split, {0, 1, 3, 2, 4}),
                      {from[0], from[1], groups * from[2], filters});
}

}  // namespace

std::vector<Ssa> emit_conv2d(StablehloText& text, const EmitNode& node) {
  const auto& op = node.op<Conv2d>();
  return {convolution(text, node.operands[0], node.operands[1], node.type(),
                      {.dim_numbers = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]",
                       .stride = op.stride,
                       .padding = op.padding,
                       .feature_groups = op.groups})};
}

// The transposed convolution: dy with stride - 1 zeros between its pixels, under the kernel turned
// by 180 degrees, its two channel axes exchanged (within each group). Padding that makes the output
// the input's size.
std::vector<Ssa> emit_conv2d_input_gradient(StablehloText& text, const EmitNode& node) {
  const auto& op = node.op<Conv2dInputGradient>();
  const Ssa &dy = node.operands[0],
            kernel = groups_before_channels(text, node.operands[1], op.groups);
  Padding padding;
  for (int axis = 0; axis < 2; ++axis) {
    const std::int64_t window = kernel.type.shape[axis];
    const std::int64_t dilated = (dy.type.shape[1 + axis] - 1) * op.stride[axis] + 1;
    const std::int64_t low = window - 1 - op.padding[2 * axis];
    padding[2 * axis] = low;
    padding[2 * axis + 1] = op.input_size[axis] + window - 1 - dilated - low;
  }
  return {convolution(text, dy, kernel, node.type(),
                      {.dim_numbers = "[b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f]",
                       .padding = padding,
                       .lhs_dilate = op.stride,
                       .reverse = true,
                       .feature_groups = op.groups})};
}

// x slides under dy, whose pixels lie `stride` apart: the examples are what is summed over, and
// the input's channels take the place of a batch.
std::vector<Ssa> emit_conv2d_kernel_gradient(StablehloText& text, const EmitNode& node) {
  const auto& op = node.op<Conv2dKernelGradient>();
  const Ssa &x = node.operands[0], &dy = node.operands[1];
  Padding padding;
  for (int axis = 0; axis < 2; ++axis) {
    const std::int64_t dilated = (dy.type.shape[1 + axis] - 1) * op.stride[axis] + 1;
    const std::int64_t low = op.padding[2 * axis];
    padding[2 * axis] = low;
    padding[2 * axis + 1] = op.kernel_size[axis] + dilated - 1 - x.type.shape[1 + axis] - low;
  }
  return {convolution(text, x, dy, node.type(),
                      {.dim_numbers = "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]",
                       .padding = padding,
                       .rhs_dilate = op.stride,
                       .batch_groups = op.groups})};
}

}  // namespace toroid
