#include "toroid/backends/cpu/kernels.h"

#include "toroid/ops/concat.h"
#include "toroid/ops/sum.h"

namespace toroid::cpu {
namespace {

bool sums_pixels(const std::vector<std::int64_t>& axes) {
  using Axes = std::vector<std::int64_t>;
  return axes == Axes{1, 2} || axes == Axes{0, 1, 2};
}

using enum LayoutPolicy;

struct Entry {
  std::string_view op;
  KernelFactory factory;
  LayoutPolicy layouts = kRowMajor;
};

constexpr Entry kKernels[] = {
    {"add_bias", make_add_bias, kChannels},
    {"all_gather_start", make_all_gather_start},
    {"all_reduce_start", make_all_reduce_start, kEach},
    {"avg_pool", make_avg_pool, kChannels},
    {"avg_pool_gradient", make_avg_pool_gradient, kChannels},
    {"axis_index", make_axis_index},
    {"batch_norm_apply", make_batch_norm_apply, kChannels},
    {"batch_norm_gradient_sums", make_batch_norm_gradient_sums, kChannels},
    {"batch_norm_input_gradient", make_batch_norm_input_gradient, kChannels},
    {"batch_norm_statistics", make_batch_norm_statistics, kChannels},
    {"binary", make_binary, kElementwise},
    {"broadcast", make_broadcast},
    {"collective_done", make_collective_done, kEach},
    {"compare", make_compare, kElementwise},
    {"concat", make_concat},
    {"constant", make_constant, kSource},
    {"conv2d", make_conv2d, kConvolution},
    {"conv2d_input_gradient", make_conv2d_input_gradient, kConvolution},
    {"conv2d_kernel_gradient", make_conv2d_kernel_gradient, kConvolution},
    {"convert", make_convert, kElementwise},
    {"dropout", make_dropout},
    {"in_top_k", make_in_top_k},
    {"is_finite", make_is_finite, kElementwise},
    {"local_response_norm", make_local_response_norm},
    {"local_response_norm_gradient", make_local_response_norm_gradient},
    {"matmul", make_matmul},
    {"max_pool", make_max_pool, kChannels},
    {"max_pool_gradient", make_max_pool_gradient, kChannels},
    {"normalize_images", make_normalize_images, kSource},
    {"reduce_scatter_start", make_reduce_scatter_start},
    {"relayout", make_relayout},
    {"relu", make_relu, kElementwise},
    {"relu_gradient", make_relu_gradient, kElementwise},
    {"reshape", make_reshape},
    {"select", make_select, kElementwise},
    {"slice", make_slice},
    {"softmax_cross_entropy", make_softmax_cross_entropy},
    {"softmax_cross_entropy_gradient", make_softmax_cross_entropy_gradient},
    {"sum", make_sum},
    {"sum_squares", make_sum_squares, kAnyElementwise},
    {"unary", make_unary, kElementwise},
};

const Entry* find_entry(std::string_view op) {
  for (const Entry& entry : kKernels) {
    if (entry.op == op) return &entry;
  }
  return nullptr;
}

}  // namespace

KernelFactory find_kernel(std::string_view op) {
  const Entry* entry = find_entry(op);
  return entry == nullptr ? nullptr : entry->factory;
}

LayoutPolicy layout_policy(const Node& node) {
  // Pixels can be summed, and values repeated over them, in any layout of activations.
  if (const auto* op = node.op.as<Sum>(); op != nullptr && sums_pixels(op->axes)) {
    return kAnyActivation;
  }
  if (const auto* op = node.op.as<Broadcast>(); op != nullptr && op->shape.rank() == 4) {
    if (op->axes == std::vector<std::int64_t>{1, 2}) return kSource;
  }
  // Channels are joined and taken apart in whole blocks.
  if (const auto* op = node.op.as<Concat>(); op != nullptr && op->axis == 3) return kChannels;
  if (const auto* op = node.op.as<Slice>(); op != nullptr && op->axis == 3) {
    return op->start % 16 == 0 ? kChannels : kRowMajor;
  }
  const Entry* entry = find_entry(node.op.name());
  return entry == nullptr ? kRowMajor : entry->layouts;
}

}  // namespace toroid::cpu
