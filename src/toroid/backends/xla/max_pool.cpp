#include "toroid/ops/max_pool.h"

#include "toroid/backends/xla/emitters.h"

namespace toroid {
namespace {

// Height and width among [N,H,W,C].
template <class Pool>
SlidingWindow sliding(const Pool& op) {
  return {.size = {1, op.window[0], op.window[1], 1},
          .stride = {1, op.stride[0], op.stride[1], 1},
          .low = {0, op.padding[0], op.padding[2], 0},
          .high = {0, op.padding[1], op.padding[3], 0}};
}

}  // namespace

std::vector<Ssa> emit_max_pool(StablehloText& text, const EmitNode& node) {
  return {text.max_window(node.operands[0], sliding(node.op<MaxPool>()), node.type())};
}

std::vector<Ssa> emit_max_pool_gradient(StablehloText& text, const EmitNode& node) {
  return {
      text.scatter_to_max(node.operands[0], node.operands[1], sliding(node.op<MaxPoolGradient>()))};
}

}  // namespace toroid
