#include "toroid/backends/cpu/kernels.h"

#include <utility>

namespace toroid::cpu {
namespace {

constexpr std::pair<std::string_view, KernelFactory> kKernels[] = {
    {"add_bias", make_add_bias},
    {"all_gather_start", make_all_gather_start},
    {"all_reduce_start", make_all_reduce_start},
    {"avg_pool", make_avg_pool},
    {"avg_pool_gradient", make_avg_pool_gradient},
    {"axis_index", make_axis_index},
    {"batch_norm_apply", make_batch_norm_apply},
    {"batch_norm_gradient_sums", make_batch_norm_gradient_sums},
    {"batch_norm_input_gradient", make_batch_norm_input_gradient},
    {"batch_norm_statistics", make_batch_norm_statistics},
    {"binary", make_binary},
    {"broadcast", make_broadcast},
    {"collective_done", make_collective_done},
    {"compare", make_compare},
    {"concat", make_concat},
    {"constant", make_constant},
    {"conv2d", make_conv2d},
    {"conv2d_input_gradient", make_conv2d_input_gradient},
    {"conv2d_kernel_gradient", make_conv2d_kernel_gradient},
    {"convert", make_convert},
    {"dropout", make_dropout},
    {"in_top_k", make_in_top_k},
    {"is_finite", make_is_finite},
    {"local_response_norm", make_local_response_norm},
    {"local_response_norm_gradient", make_local_response_norm_gradient},
    {"matmul", make_matmul},
    {"max_pool", make_max_pool},
    {"max_pool_gradient", make_max_pool_gradient},
    {"normalize_images", make_normalize_images},
    {"reduce_scatter_start", make_reduce_scatter_start},
    {"relu", make_relu},
    {"relu_gradient", make_relu_gradient},
    {"reshape", make_reshape},
    {"select", make_select},
    {"slice", make_slice},
    {"softmax_cross_entropy", make_softmax_cross_entropy},
    {"softmax_cross_entropy_gradient", make_softmax_cross_entropy_gradient},
    {"sum", make_sum},
    {"sum_squares", make_sum_squares},
    {"unary", make_unary},
};

}  // namespace

KernelFactory find_kernel(std::string_view op) {
  for (const auto& [name, factory] : kKernels) {
    if (name == op) return factory;
  }
  return nullptr;
}

}  // namespace toroid::cpu
