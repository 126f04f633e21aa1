#include "toroid/ops/conv2d.h"

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/onednn.h"
#include "toroid/base/error.h"

namespace toroid::cpu {
namespace {

void refuse_groups(std::int64_t groups) {
  if (groups != 1) fail("the cpu backend has no convolutions of {} groups yet", groups);
}

}  // namespace

std::unique_ptr<Kernel> make_conv2d(const NodeContext& context) {
  const auto& op = context.op<Conv2d>();
  refuse_groups(op.groups);
  return convolution(context.onednn, {.x = context.inputs[0].shape,
                                      .kernel = context.inputs[1].shape,
                                      .y = context.outputs()[0].shape,
                                      .stride = op.stride,
                                      .padding = op.padding});
}

std::unique_ptr<Kernel> make_conv2d_input_gradient(const NodeContext& context) {
  const auto& op = context.op<Conv2dInputGradient>();
  refuse_groups(op.groups);
  return convolution_backward_data(context.onednn, {.x = context.outputs()[0].shape,
                                                    .kernel = context.inputs[1].shape,
                                                    .y = context.inputs[0].shape,
                                                    .stride = op.stride,
                                                    .padding = op.padding});
}

std::unique_ptr<Kernel> make_conv2d_kernel_gradient(const NodeContext& context) {
  const auto& op = context.op<Conv2dKernelGradient>();
  refuse_groups(op.groups);
  return convolution_backward_weights(context.onednn, {.x = context.inputs[0].shape,
                                                       .kernel = context.outputs()[0].shape,
                                                       .y = context.inputs[1].shape,
                                                       .stride = op.stride,
                                                       .padding = op.padding});
}

}  // namespace toroid::cpu
