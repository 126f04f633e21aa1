#include "toroid/ops/collectives.h"

#include <fmt/format.h>

#include "toroid/backends/xla/emitters.h"

namespace toroid {
namespace {

// Consecutive replicas: "dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>".
std::string replica_groups(const Mesh& mesh, int group_size) {
  std::vector<std::string> groups;
  for (int first = 0; first < mesh.data; first += group_size) {
    Dims members;
    for (int member = 0; member < group_size; ++member) members.push_back(first + member);
    groups.push_back(mlir_list(members));
  }
  return fmt::format("dense<[{}]> : tensor<{}x{}xi64>", fmt::join(groups, ", "), groups.size(),
                     group_size);
}

// One operation per operand, where StableHLO takes one only.
template <class Emit>
std::vector<Ssa> for_each_operand(const EmitNode& node, int group_size, Emit emit) {
  if (group_size == 1) return node.operands;
  const std::string groups = replica_groups(node.mesh, group_size);
  std::vector<Ssa> results;
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    results.push_back(emit(node.operands[i], node.type(i), groups));
  }
  return results;
}

}  // namespace

// A bucket stays one operation.
std::vector<Ssa> emit_all_reduce(StablehloText& text, const EmitNode& node) {
  const int group_size = node.op<AllReduceStart>().group_size;
  if (group_size == 1) return node.operands;
  std::vector<std::string> names, types;
  for (const Ssa& operand : node.operands) {
    names.push_back(operand.name);
    types.push_back(mlir_type(operand.type));
  }
  const std::string list = fmt::format("{}", fmt::join(types, ", "));
  return text.lines(
      node.node.types,
      fmt::format("\"stablehlo.all_reduce\"({}) ({}) {{replica_groups = {}}} : ({}) -> {}",
                  fmt::join(names, ", "), StablehloText::region("add", node.type().dtype),
                  replica_groups(node.mesh, group_size), list,
                  types.size() == 1 ? list : "(" + list + ")"));
}

std::vector<Ssa> emit_reduce_scatter(StablehloText& text, const EmitNode& node) {
  return for_each_operand(
      node, node.op<ReduceScatterStart>().group_size,
      [&](const Ssa& x, const TensorType& type, const std::string& groups) {
        return text.line(type,
                         fmt::format("\"stablehlo.reduce_scatter\"({}) ({}) {{replica_groups = {}, "
                                     "scatter_dimension = 0 : i64}} : ({}) -> {}",
                                     x.name, StablehloText::region("add", type.dtype), groups,
                                     mlir_type(x.type), mlir_type(type)));
      });
}

std::vector<Ssa> emit_all_gather(StablehloText& text, const EmitNode& node) {
  return for_each_operand(
      node, node.op<AllGatherStart>().group_size,
      [&](const Ssa& x, const TensorType& type, const std::string& groups) {
        return text.line(type, fmt::format("\"stablehlo.all_gather\"({}) {{all_gather_dim = 0 : "
                                           "i64, replica_groups = {}}} : ({}) -> {}",
                                           x.name, groups, mlir_type(x.type), mlir_type(type)));
      });
}

// XLA itself decides when a collective starts and what runs meanwhile.
std::vector<Ssa> emit_collective_done(StablehloText&, const EmitNode& node) {
  return node.operands;
}

std::vector<Ssa> emit_axis_index(StablehloText& text, const EmitNode&) {
  const Ssa id = text.line({DType::u32, Shape{}}, "stablehlo.replica_id : tensor<ui32>");
  return {text.convert(id, DType::i32)};
}

}  // namespace toroid
