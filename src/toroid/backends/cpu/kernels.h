// The factories of all kernels, by op; each family is in the file named like its op's.
#pragma once

#include "toroid/backends/cpu/kernel.h"
#include "toroid/backends/cpu/lay_out.h"

namespace toroid::cpu {

std::unique_ptr<Kernel> make_add_bias(const NodeContext& context);
std::unique_ptr<Kernel> make_all_gather_start(const NodeContext& context);
std::unique_ptr<Kernel> make_all_reduce_start(const NodeContext& context);
std::unique_ptr<Kernel> make_avg_pool(const NodeContext& context);
std::unique_ptr<Kernel> make_avg_pool_gradient(const NodeContext& context);
std::unique_ptr<Kernel> make_axis_index(const NodeContext& context);
std::unique_ptr<Kernel> make_batch_norm_apply(const NodeContext& context);
std::unique_ptr<Kernel> make_batch_norm_gradient_sums(const NodeContext& context);
std::unique_ptr<Kernel> make_batch_norm_input_gradient(const NodeContext& context);
std::unique_ptr<Kernel> make_batch_norm_statistics(const NodeContext& context);
std::unique_ptr<Kernel> make_binary(const NodeContext& context);
std::unique_ptr<Kernel> make_broadcast(const NodeContext& context);
std::unique_ptr<Kernel> make_collective_done(const NodeContext& context);
std::unique_ptr<Kernel> make_compare(const NodeContext& context);
std::unique_ptr<Kernel> make_concat(const NodeContext& context);
std::unique_ptr<Kernel> make_constant(const NodeContext& context);
std::unique_ptr<Kernel> make_conv2d(const NodeContext& context);
std::unique_ptr<Kernel> make_conv2d_input_gradient(const NodeContext& context);
std::unique_ptr<Kernel> make_conv2d_kernel_gradient(const NodeContext& context);
std::unique_ptr<Kernel> make_convert(const NodeContext& context);
std::unique_ptr<Kernel> make_dropout(const NodeContext& context);
std::unique_ptr<Kernel> make_in_top_k(const NodeContext& context);
std::unique_ptr<Kernel> make_is_finite(const NodeContext& context);
std::unique_ptr<Kernel> make_local_response_norm(const NodeContext& context);
std::unique_ptr<Kernel> make_local_response_norm_gradient(const NodeContext& context);
std::unique_ptr<Kernel> make_matmul(const NodeContext& context);
std::unique_ptr<Kernel> make_max_pool(const NodeContext& context);
std::unique_ptr<Kernel> make_max_pool_gradient(const NodeContext& context);
std::unique_ptr<Kernel> make_normalize_images(const NodeContext& context);
std::unique_ptr<Kernel> make_reduce_scatter_start(const NodeContext& context);
std::unique_ptr<Kernel> make_relayout(const NodeContext& context);
std::unique_ptr<Kernel> make_relu(const NodeContext& context);
std::unique_ptr<Kernel> make_relu_gradient(const NodeContext& context);
std::unique_ptr<Kernel> make_reshape(const NodeContext& context);
std::unique_ptr<Kernel> make_select(const NodeContext& context);
std::unique_ptr<Kernel> make_slice(const NodeContext& context);
std::unique_ptr<Kernel> make_softmax_cross_entropy(const NodeContext& context);
std::unique_ptr<Kernel> make_softmax_cross_entropy_gradient(const NodeContext& context);
std::unique_ptr<Kernel> make_sum(const NodeContext& context);
std::unique_ptr<Kernel> make_sum_squares(const NodeContext& context);
std::unique_ptr<Kernel> make_unary(const NodeContext& context);

/// What a convolution or one of its gradients wants of its tensors.
ConvolutionLayouts convolution_layouts(const OneDnn& onednn, const Node& node, const TensorType& x,
                                       const TensorType& kernel, const TensorType& y);

}  // namespace toroid::cpu
