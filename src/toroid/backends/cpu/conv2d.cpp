#include "toroid/ops/conv2d.h"

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/onednn.h"

namespace toroid::cpu {
namespace {

// Winograd's F(4x4, 3x3) does a quarter of the multiplications, but moves more memory and has to
// transform the kernel: it pays where there are channels and tiles of 4x4 results enough (the
// crossings were measured, docs/performance.md). The rule knows shapes alone, so that results do
// not depend on a stopwatch. Its rounding errors are up to four times those of the direct
// algorithm.
bool winograd_pays(const ConvolutionGeometry& g) {
  const Shape& k = g.kernel;
  if (g.dtype != DType::f32 || g.groups != 1 || k[0] != 3 || k[1] != 3) return false;
  if (g.stride != std::array<std::int64_t, 2>{1, 1}) return false;
  const std::int64_t tiles = g.y[0] * ((g.y[1] + 3) / 4) * ((g.y[2] + 3) / 4);
  const std::int64_t channels = std::min(k[2], k[3]);
  return channels >= 64 ? tiles >= 64 : channels >= 32 && tiles >= 4096;
}

template <class ConvolutionOp>
ConvolutionGeometry geometry(const ConvolutionOp& op, const TensorType& x, const Shape& kernel,
                             const Shape& y) {
  return {.x = x.shape,
          .kernel = kernel,
          .y = y,
          .stride = op.stride,
          .padding = op.padding,
          .groups = op.groups,
          .dtype = x.dtype};
}

ConvolutionPlan plan(const NodeContext& context, const ConvolutionGeometry& geometry, Layout x,
                     Layout kernel, Layout y) {
  return {geometry, x, kernel, y, context.fast_convolutions && winograd_pays(geometry)};
}

}  // namespace

ConvolutionLayouts convolution_layouts(const OneDnn& onednn, const Node& node, const TensorType& x,
                                       const TensorType& kernel, const TensorType& y) {
  const auto chosen = [&](const auto& op) {
    ConvolutionLayouts result = preferred_layouts(onednn, geometry(op, x, kernel.shape, y.shape));
    // Blocks of filters must not reach over groups.
    result.blocked_kernel = kernel.shape[3] / op.groups % 16 == 0;
    return result;
  };
  if (const auto* op = node.op.as<Conv2d>()) return chosen(*op);
  if (const auto* op = node.op.as<Conv2dInputGradient>()) return chosen(*op);
  return chosen(*node.op.as<Conv2dKernelGradient>());
}

std::unique_ptr<Kernel> make_conv2d(const NodeContext& context) {
  const auto g = geometry(context.op<Conv2d>(), context.inputs[0], context.inputs[1].shape,
                          context.outputs()[0].shape);
  return convolution(context.onednn, plan(context, g, context.input_layouts[0],
                                          context.input_layouts[1], context.output_layouts[0]));
}

std::unique_ptr<Kernel> make_conv2d_input_gradient(const NodeContext& context) {
  const auto g = geometry(context.op<Conv2dInputGradient>(), context.outputs()[0],
                          context.inputs[1].shape, context.inputs[0].shape);
  return convolution_backward_data(
      context.onednn, plan(context, g, context.output_layouts[0], context.input_layouts[1],
                           context.input_layouts[0]));
}

std::unique_ptr<Kernel> make_conv2d_kernel_gradient(const NodeContext& context) {
  const auto g = geometry(context.op<Conv2dKernelGradient>(), context.inputs[0],
                          context.outputs()[0].shape, context.inputs[1].shape);
  return convolution_backward_weights(
      context.onednn, plan(context, g, context.input_layouts[0], context.output_layouts[0],
                           context.input_layouts[1]));
}

}  // namespace toroid::cpu
