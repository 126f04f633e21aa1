#include "toroid/ops/constant.h"

#include "toroid/backends/xla/emitters.h"

namespace toroid {

std::vector<Ssa> emit_constant(StablehloText& text, const EmitNode& node) {
  return {text.constant(node.op<Constant>().value, node.type())};
}

std::vector<Ssa> emit_convert(StablehloText& text, const EmitNode& node) {
  return {text.convert(node.operands[0], node.type().dtype)};
}

}  // namespace toroid
