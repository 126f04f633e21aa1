#include "toroid/ops/matmul.h"

#include <fmt/format.h>

#include "toroid/backends/xla/emitters.h"

namespace toroid {

std::vector<Ssa> emit_matmul(StablehloText& text, const EmitNode& node) {
  const auto& op = node.op<Matmul>();
  const Ssa &a = node.operands[0], &b = node.operands[1];
  const auto precision = product_precision(a.type.dtype);
  return {text.line(
      node.type(),
      fmt::format("stablehlo.dot_general {}, {}, contracting_dims = [{}] x [{}], "
                  "precision = [{}, {}] : ({}, {}) -> {}",
                  a.name, b.name, op.transpose_a ? 0 : 1, op.transpose_b ? 1 : 0, precision,
                  precision, mlir_type(a.type), mlir_type(b.type), mlir_type(node.type())))};
}

std::vector<Ssa> emit_add_bias(StablehloText& text, const EmitNode& node) {
  const Shape& shape = node.type().shape;
  const Ssa bias = text.broadcast(node.operands[1], shape, {shape.rank() - 1});
  return {text.add(node.operands[0], bias)};
}

}  // namespace toroid
