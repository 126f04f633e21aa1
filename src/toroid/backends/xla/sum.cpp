#include "toroid/ops/sum.h"

#include <algorithm>

#include "toroid/backends/xla/emitters.h"

namespace toroid {
namespace {

Dims all_axes(const Shape& shape) {
  Dims axes;
  for (int axis = 0; axis < shape.rank(); ++axis) axes.push_back(axis);
  return axes;
}

}  // namespace

std::vector<Ssa> emit_sum(StablehloText& text, const EmitNode& node) {
  return {text.sum(node.operands[0], node.op<Sum>().axes)};
}

std::vector<Ssa> emit_broadcast(StablehloText& text, const EmitNode& node) {
  const auto& op = node.op<Broadcast>();
  Dims kept;
  for (const std::int64_t axis : all_axes(op.shape)) {
    if (std::find(op.axes.begin(), op.axes.end(), axis) == op.axes.end()) kept.push_back(axis);
  }
  return {text.broadcast(node.operands[0], op.shape, kept)};
}

// In f64, so that the order in which a target sums millions of squares does not matter; targets
// without it emulate it.
std::vector<Ssa> emit_sum_squares(StablehloText& text, const EmitNode& node) {
  Ssa total;
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    const Ssa x = text.convert(node.operands[i], DType::f64);
    const Ssa squares = text.sum(text.multiply(x, x), all_axes(x.type.shape));
    total = i == 0 ? squares : text.add(total, squares);
  }
  return {text.convert(total, node.type().dtype)};
}

std::vector<Ssa> emit_reshape(StablehloText& text, const EmitNode& node) {
  return {text.reshape(node.operands[0], node.op<Reshape>().shape)};
}

}  // namespace toroid
