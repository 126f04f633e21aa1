#include "toroid/ops/relu.h"

#include "toroid/backends/xla/emitters.h"

namespace toroid {

std::vector<Ssa> emit_relu(StablehloText& text, const EmitNode& node) {
  return {text.relu(node.operands[0])};
}

std::vector<Ssa> emit_relu_gradient(StablehloText& text, const EmitNode& node) {
  const Ssa& y = node.operands[1];
  Ssa dy = node.operands[0];
  for (std::size_t i = 2; i < node.operands.size(); ++i) dy = text.add(dy, node.operands[i]);
  const Ssa zero = text.constant(0, y.type);
  return {text.select(text.compare("GT", y, zero), dy, zero)};
}

}  // namespace toroid
