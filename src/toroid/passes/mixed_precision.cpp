#include "toroid/passes/mixed_precision.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "toroid/ops/avg_pool.h"
#include "toroid/ops/batch_norm.h"
#include "toroid/ops/concat.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/conv2d.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/matmul.h"
#include "toroid/ops/max_pool.h"
#include "toroid/ops/normalize_images.h"
#include "toroid/ops/relu.h"
#include "toroid/passes/rewrite.h"

namespace toroid {
namespace {

class MixedPrecision {
 public:
  explicit MixedPrecision(const Graph& graph) : graph_(graph), rewriter_(graph) {}

  Graph run() {
    for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) emit(i);
    for (const auto* bindings : {&graph_.updates, &graph_.outputs}) {
      for (const Binding& binding : *bindings) {
        rewriter_.replace(binding.value, as(binding.value, graph_.type(binding.value).dtype));
      }
    }
    return rewriter_.finish();
  }

 private:
  const Node& node(int index) const { return graph_.nodes[static_cast<std::size_t>(index)]; }

  // Whether the node computes on activations in bf16: its operands of rank 4, or a dense layer's.
  static bool on_activations(const Node& node) {
    static const std::set<std::string_view> kOps{
        AvgPool::kName,
        AvgPoolGradient::kName,
        BatchNormApply::kName,
        BatchNormGradientSums::kName,
        BatchNormInputGradient::kName,
        BatchNormStatistics::kName,
        Concat::kName,
        Conv2d::kName,
        Conv2dInputGradient::kName,
        Conv2dKernelGradient::kName,
        MaxPool::kName,
        Matmul::kName,
        MaxPoolGradient::kName,
        Relu::kName,
        ReluGradient::kName,
        Slice::kName,
    };
    return kOps.contains(node.op.name());
  }

  // Gradients of branches that meet, and residuals: added in bf16 where both are.
  bool adds_activations(const Node& node) const {
    const auto* binary = node.op.as<Binary>();
    return binary != nullptr && binary->kind == BinaryKind::kAdd &&
           std::ranges::all_of(node.inputs, [&](Value value) {
             return rewriter_.type(rewriter_.map(value)).dtype == DType::bf16;
           });
  }

  void emit(int index) {
    const Node& source = node(index);
    if (const auto* images = source.op.as<NormalizeImages>()) {
      NormalizeImages narrow = *images;
      if (source.types[0].dtype == DType::f32) narrow.dtype = DType::bf16;
      return rewriter_.copy_as(narrow, index, operands(source, false));
    }
    const bool narrow = on_activations(source) || adds_activations(source);
    rewriter_.copy_as(source.op, index, operands(source, narrow));
  }

  std::vector<Value> operands(const Node& source, bool narrow) {
    std::vector<Value> result;
    for (const Value value : source.inputs) {
      const TensorType& type = graph_.type(value);
      const bool fitting = type.shape.rank() == 4 || source.op.as<Matmul>() != nullptr;
      const bool activation = narrow && type.dtype == DType::f32 && fitting;
      result.push_back(as(value, activation ? DType::bf16 : type.dtype));
    }
    return result;
  }

  // A source value in a dtype.
  Value as(Value source, DType dtype) {
    const Value value = rewriter_.map(source);
    if (rewriter_.type(value).dtype == dtype) return value;
    auto& converted = converted_[{source, dtype}];
    if (!converted) {
      converted = rewriter_.add(Convert{dtype},
                                graph_.name(source) + "/" + std::string(name_of(dtype)), {value});
    }
    return converted;
  }

  const Graph& graph_;
  Rewriter rewriter_;
  std::map<std::pair<Value, DType>, Value> converted_;
};

}  // namespace

Graph mixed_precision(const Graph& graph) {
  return MixedPrecision(graph).run();
}

}  // namespace toroid
