#include "toroid/ops/concat.h"

#include "toroid/backends/xla/emitters.h"

namespace toroid {

std::vector<Ssa> emit_concat(StablehloText& text, const EmitNode& node) {
  return {text.concatenate(node.operands, node.op<Concat>().axis)};
}

std::vector<Ssa> emit_slice(StablehloText& text, const EmitNode& node) {
  const auto& op = node.op<Slice>();
  return {text.slice(node.operands[0], op.axis, op.start, op.limit)};
}

}  // namespace toroid
