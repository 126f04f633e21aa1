#include "toroid/backends/xla/stablehlo.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "toroid/backends/xla/emitters.h"
#include "toroid/base/error.h"
#include "toroid/ops/avg_pool.h"
#include "toroid/ops/batch_norm.h"
#include "toroid/ops/collectives.h"
#include "toroid/ops/concat.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/conv2d.h"
#include "toroid/ops/dropout.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/local_response_norm.h"
#include "toroid/ops/matmul.h"
#include "toroid/ops/max_pool.h"
#include "toroid/ops/normalize_images.h"
#include "toroid/ops/relu.h"
#include "toroid/ops/softmax_cross_entropy.h"
#include "toroid/ops/sum.h"

namespace toroid {

Emitter emitter_of(std::string_view op_name) {
  static const std::map<std::string_view, Emitter> emitters{
      {AddBias::kName, emit_add_bias},
      {AllGatherStart::kName, emit_all_gather},
      {AllReduceStart::kName, emit_all_reduce},
      {AvgPool::kName, emit_avg_pool},
      {AvgPoolGradient::kName, emit_avg_pool_gradient},
      {AxisIndex::kName, emit_axis_index},
      {BatchNormApply::kName, emit_batch_norm_apply},
      {BatchNormGradientSums::kName, emit_batch_norm_gradient_sums},
      {BatchNormInputGradient::kName, emit_batch_norm_input_gradient},
      {BatchNormStatistics::kName, emit_batch_norm_statistics},
      {Binary::kName, emit_binary},
      {Broadcast::kName, emit_broadcast},
      {CollectiveDone::kName, emit_collective_done},
      {Compare::kName, emit_compare},
      {Concat::kName, emit_concat},
      {Constant::kName, emit_constant},
      {Conv2d::kName, emit_conv2d},
      {Conv2dInputGradient::kName, emit_conv2d_input_gradient},
      {Conv2dKernelGradient::kName, emit_conv2d_kernel_gradient},
      {Convert::kName, emit_convert},
      {Dropout::kName, emit_dropout},
      {InTopK::kName, emit_in_top_k},
      {IsFinite::kName, emit_is_finite},
      {LocalResponseNorm::kName, emit_local_response_norm},
      {LocalResponseNormGradient::kName, emit_local_response_norm_gradient},
      {Matmul::kName, emit_matmul},
      {MaxPool::kName, emit_max_pool},
      {MaxPoolGradient::kName, emit_max_pool_gradient},
      {NormalizeImages::kName, emit_normalize_images},
      {ReduceScatterStart::kName, emit_reduce_scatter},
      {Relu::kName, emit_relu},
      {ReluGradient::kName, emit_relu_gradient},
      {Reshape::kName, emit_reshape},
      {Select::kName, emit_select},
      {Slice::kName, emit_slice},
      {SoftmaxCrossEntropy::kName, emit_softmax_cross_entropy},
      {SoftmaxCrossEntropyGradient::kName, emit_softmax_cross_entropy_gradient},
      {Sum::kName, emit_sum},
      {SumSquares::kName, emit_sum_squares},
      {Unary::kName, emit_unary},
  };
  const auto found = emitters.find(op_name);
  if (found == emitters.end()) fail("the op {} has no StableHLO emission", op_name);
  return found->second;
}

namespace {

using Values = std::map<Value, Ssa>;

std::string_view name_of(InputKind kind) {
  switch (kind) {
    case InputKind::kState:
      return "state";
    case InputKind::kBatch:
      return "batch";
    case InputKind::kScalar:
      return "scalar";
  }
  return "?";
}

// "%stem.kernel: tensor<3x3xf32> {tf.aliasing_output = 0 : i32}"
std::string argument(const Graph& graph, const Input& input, const std::string& name) {
  std::string text = fmt::format("{}: {}", name, mlir_type(input.type));
  if (input.kind != InputKind::kState) return text;
  for (std::size_t k = 0; k < graph.updates.size(); ++k) {
    if (graph.updates[k].name != input.name) continue;
    return text + fmt::format(" {{tf.aliasing_output = {} : i32}}", k);
  }
  return text;
}

struct Entry {
  std::string text, comment;
};

// One entry a line, each with a comment: "(\n      a,  // x\n      b  // y\n  )".
std::string listed(const std::vector<Entry>& entries) {
  if (entries.empty()) return "()";
  std::string text = "(\n";
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool last = i + 1 == entries.size();
    text +=
        fmt::format("      {}{}  // {}\n", entries[i].text, last ? "" : ",", entries[i].comment);
  }
  return text + "  )";
}

std::vector<Entry> name_arguments(const Graph& graph, StablehloText& text, Values& values) {
  std::vector<Entry> arguments;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto* input = graph.nodes[i].op.as<Input>();
    if (input == nullptr) continue;
    const std::string name = text.name_for(input->name);
    values[{static_cast<int>(i), 0}] = {name, input->type};
    arguments.push_back(
        {argument(graph, *input, name), fmt::format("{} {}", name_of(input->kind), input->name)});
  }
  return arguments;
}

// Ops that are written for operands and results of one float type, some of whose values are bf16:
// their arithmetic is f32, and what XLA then fuses is the conversion.
bool mixes_types(const Node& node, const std::vector<Ssa>& operands) {
  static const std::set<std::string_view> kOps{AvgPool::kName,
                                               AvgPoolGradient::kName,
                                               BatchNormApply::kName,
                                               BatchNormStatistics::kName,
                                               BatchNormGradientSums::kName,
                                               BatchNormInputGradient::kName};
  return kOps.contains(node.op.name()) && operands[0].type.dtype == DType::bf16;
}

std::vector<Ssa> emit_in_f32(StablehloText& text, const Graph& graph, Node node,
                             std::vector<Ssa> operands) {
  const std::vector<TensorType> types = node.types;
  for (Ssa& operand : operands) {
    if (operand.type.dtype == DType::bf16) operand = text.convert(operand, DType::f32);
  }
  for (TensorType& type : node.types) {
    if (type.dtype == DType::bf16) type.dtype = DType::f32;
  }
  auto results = emitter_of(node.op.name())(text, {node, operands, graph.mesh});
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i].dtype == DType::bf16) results[i] = text.convert(results[i], DType::bf16);
  }
  return results;
}

void emit_node(const Graph& graph, int index, StablehloText& text, Values& values) {
  const Node& node = graph.nodes[static_cast<std::size_t>(index)];
  std::vector<Ssa> operands;
  for (const Value value : node.inputs) operands.push_back(values.at(value));
  text.begin(node.path);
  const auto results = mixes_types(node, operands)
                           ? emit_in_f32(text, graph, node, operands)
                           : emitter_of(node.op.name())(text, {node, operands, graph.mesh});
  for (std::size_t i = 0; i < node.types.size(); ++i) {
    if (results.size() != node.types.size() || results[i].type != node.types[i]) {
      fail("the StableHLO of {} ({}) does not give {}", node.path, node.op.name(),
           node.types[i].str());
    }
    values[{index, static_cast<int>(i)}] = results[i];
  }
}

}  // namespace

std::string emit_stablehlo(const Graph& graph) {
  StablehloText text;
  Values values;
  const std::vector<Entry> arguments = name_arguments(graph, text, values);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].op.as<Input>() != nullptr) continue;
    emit_node(graph, static_cast<int>(i), text, values);
  }
  std::vector<Entry> results;
  std::vector<std::string> names, types;
  const auto add_results = [&](const std::vector<Binding>& bindings, std::string_view what) {
    for (const Binding& binding : bindings) {
      const Ssa& value = values.at(binding.value);
      names.push_back(value.name);
      types.push_back(mlir_type(value.type));
      results.push_back({types.back(), fmt::format("{} {}", what, binding.name)});
    }
  };
  add_results(graph.updates, "update of");
  add_results(graph.outputs, "output");
  const std::string returned =
      names.empty() ? "" : fmt::format(" {} : {}", fmt::join(names, ", "), fmt::join(types, ", "));
  return fmt::format(
      "module @step attributes {{mhlo.num_replicas = {} : i32, mhlo.num_partitions = 1 : i32}} {{\n"
      "  func.func public @main{} -> {} {{\n{}    return{}\n  }}\n}}\n",
      graph.mesh.data, listed(arguments), listed(results), text.text(), returned);
}

}  // namespace toroid
