#include "toroid/ops/conv2d.h"

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/onednn.h"

namespace toroid::cpu {

std::unique_ptr<Kernel> make_conv2d(const NodeContext& context) {
  const auto& op = context.op<Conv2d>();
  return convolution(context.onednn, {.x = context.inputs[0].shape,
                                      .kernel = context.inputs[1].shape,
                                      .y = context.outputs()[0].shape,
                                      .stride = op.stride,
                                      .padding = op.padding});
}

std::unique_ptr<Kernel> make_conv2d_input_gradient(const NodeContext& context) {
  const auto& op = context.op<Conv2dInputGradient>();
  return convolution_backward_data(context.onednn, {.x = context.outputs()[0].shape,
                                                    .kernel = context.inputs[1].shape,
                                                    .y = context.inputs[0].shape,
                                                    .stride = op.stride,
                                                    .padding = op.padding});
}

std::unique_ptr<Kernel> make_conv2d_kernel_gradient(const NodeContext& context) {
  const auto& op = context.op<Conv2dKernelGradient>();
  return convolution_backward_weights(context.onednn, {.x = context.inputs[0].shape,
                                                       .kernel = context.outputs()[0].shape,
                                                       .y = context.inputs[1].shape,
                                                       .stride = op.stride,
                                                       .padding = op.padding});
}

}  // namespace toroid::cpu
