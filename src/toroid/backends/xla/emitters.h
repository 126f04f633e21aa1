// What each op becomes in StableHLO: one function per op, in the file named like the op's own.
#pragma once

#include <string_view>
#include <vector>

#include "toroid/backends/xla/stablehlo_text.h"
#include "toroid/graph/graph.h"

namespace toroid {

/// A node to be written: its op, the values that its operands became, and the mesh.
struct EmitNode {
  const Node& node;
  const std::vector<Ssa>& operands;
  const Mesh& mesh;

  template <class T>
  const T& op() const {
    return *node.op.as<T>();
  }
  /// The type of output i.
  const TensorType& type(std::size_t i = 0) const { return node.types[i]; }
};

/// Appends the node's operations and returns its results.
using Emitter = std::vector<Ssa> (*)(StablehloText& text, const EmitNode& node);

/// The op's emitter; Error when there is none.
Emitter emitter_of(std::string_view op_name);

std::vector<Ssa> emit_add_bias(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_all_gather(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_all_reduce(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_avg_pool(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_avg_pool_gradient(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_axis_index(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_batch_norm_apply(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_batch_norm_gradient_sums(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_batch_norm_input_gradient(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_batch_norm_statistics(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_binary(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_broadcast(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_collective_done(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_compare(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_concat(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_constant(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_conv2d(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_conv2d_input_gradient(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_conv2d_kernel_gradient(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_convert(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_dropout(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_in_top_k(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_is_finite(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_local_response_norm(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_local_response_norm_gradient(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_matmul(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_max_pool(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_max_pool_gradient(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_normalize_images(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_reduce_scatter(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_relu(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_relu_gradient(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_reshape(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_select(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_slice(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_softmax_cross_entropy(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_softmax_cross_entropy_gradient(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_sum(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_sum_squares(StablehloText& text, const EmitNode& node);
std::vector<Ssa> emit_unary(StablehloText& text, const EmitNode& node);

}  // namespace toroid
