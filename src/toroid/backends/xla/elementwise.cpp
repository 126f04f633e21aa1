#include "toroid/ops/elementwise.h"

#include "toroid/backends/xla/emitters.h"

namespace toroid {
namespace {

// A scalar operand meets every element of the other.
Ssa spread(StablehloText& text, const Ssa& x, const Shape& shape) {
  return text.broadcast(x, shape, {});
}

std::string_view stablehlo_name(UnaryKind kind) {
  if (kind == UnaryKind::kExp) return "exponential";
  if (kind == UnaryKind::kExpm1) return "exponential_minus_one";
  return name_of(kind);
}

std::string_view direction(CompareKind kind) {
  switch (kind) {
    case CompareKind::kEqual:
      return "EQ";
    case CompareKind::kLess:
      return "LT";
    case CompareKind::kGreaterEqual:
      return "GE";
  }
  return "?";
}

}  // namespace

std::vector<Ssa> emit_unary(StablehloText& text, const EmitNode& node) {
  return {text.elementwise(stablehlo_name(node.op<Unary>().kind), {node.operands[0]})};
}

std::vector<Ssa> emit_binary(StablehloText& text, const EmitNode& node) {
  const Ssa a = spread(text, node.operands[0], node.type().shape);
  const Ssa b = spread(text, node.operands[1], node.type().shape);
  return {text.elementwise(name_of(node.op<Binary>().kind), {a, b})};
}

std::vector<Ssa> emit_compare(StablehloText& text, const EmitNode& node) {
  const Ssa a = spread(text, node.operands[0], node.type().shape);
  const Ssa b = spread(text, node.operands[1], node.type().shape);
  return {text.compare(direction(node.op<Compare>().kind), a, b)};
}

std::vector<Ssa> emit_is_finite(StablehloText& text, const EmitNode& node) {
  return {text.is_finite(node.operands[0])};
}

std::vector<Ssa> emit_select(StablehloText& text, const EmitNode& node) {
  return {text.select(node.operands[0], node.operands[1], node.operands[2])};
}

}  // namespace toroid
