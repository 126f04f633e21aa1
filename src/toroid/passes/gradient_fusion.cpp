#include "toroid/passes/gradient_fusion.h"

#include "toroid/ops/batch_norm.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/relu.h"
#include "toroid/passes/rewrite.h"

namespace toroid {
namespace {

class GradientFusion {
 public:
  explicit GradientFusion(const Graph& graph)
      : graph_(graph), uses_(uses_of(graph)), dropped_(graph.nodes.size(), false) {
    for (int i = 0; i < size(); ++i) {
      if (node(i).op.as<ReluGradient>() == nullptr) continue;
      int terms = 1;
      drop_additions(node(i).inputs[0], terms);
      if (found_again(i)) dropped_[static_cast<std::size_t>(i)] = true;
    }
  }

  Graph run() {
    Rewriter rewriter(graph_);
    for (int i = 0; i < size(); ++i) {
      if (!dropped_[static_cast<std::size_t>(i)]) emit(rewriter, i);
    }
    return rewriter.finish();
  }

 private:
  int size() const { return static_cast<int>(graph_.nodes.size()); }
  const Node& node(int index) const { return graph_.nodes[static_cast<std::size_t>(index)]; }
  bool dropped(Value value) const { return dropped_[static_cast<std::size_t>(value.node)]; }
  const std::vector<Use>& users(Value value) const {
    return uses_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.index)];
  }

  // Additions of gradients that nothing but this relu_gradient reads, up to as many as it takes.
  void drop_additions(Value dy, int& count) {
    if (count == ReluGradient::kMostGradients) return;
    const auto* binary = node(dy.node).op.as<Binary>();
    if (binary == nullptr || binary->kind != BinaryKind::kAdd || users(dy).size() != 1) return;
    const std::vector<Value>& terms = node(dy.node).inputs;
    if (graph_.type(terms[0]) != graph_.type(terms[1])) return;
    dropped_[static_cast<std::size_t>(dy.node)] = true;
    ++count;
    for (const Value term : terms) drop_additions(term, count);
  }

  // The batch norm whose fused relu a relu_gradient belongs to, or null.
  const Node* batch_norm_of(int relu_gradient) const {
    const Node& forward = graph_.node(node(relu_gradient).inputs[1]);
    const auto* op = forward.op.as<BatchNormApply>();
    return op != nullptr && op->relu && !op->residual ? &forward : nullptr;
  }

  // Whether all that reads a relu_gradient is the gradient of the batch norm before the relu; and
  // its dy is one value.
  bool found_again(int relu_gradient) const {
    const Node* forward = batch_norm_of(relu_gradient);
    if (forward == nullptr || dropped(node(relu_gradient).inputs[0])) return false;
    for (const Use& use : users({relu_gradient, 0})) {
      if (use.node < 0 || use.position != 1) return false;
      const Node& user = node(use.node);
      const bool gradient = user.op.as<BatchNormGradientSums>() != nullptr ||
                            user.op.as<BatchNormInputGradient>() != nullptr;
      if (!gradient || user.inputs[0] != forward->inputs[0]) return false;
    }
    return true;
  }

  void emit(Rewriter& rewriter, int index) const {
    const Node& source = node(index);
    if (source.op.as<ReluGradient>() != nullptr) return emit_sum(rewriter, index);
    if (source.inputs.size() > 1 && dropped(source.inputs[1])) {
      if (const auto* op = source.op.as<BatchNormGradientSums>()) {
        return emit_with_relu(rewriter, index, *op);
      }
      if (const auto* op = source.op.as<BatchNormInputGradient>()) {
        return emit_with_relu(rewriter, index, *op);
      }
    }
    rewriter.copy(index);
  }

  // The terms of a dropped addition, in their order.
  void collect(const Rewriter& rewriter, Value value, std::vector<Value>& terms) const {
    if (!dropped(value)) return terms.push_back(rewriter.map(value));
    for (const Value term : node(value.node).inputs) collect(rewriter, term, terms);
  }

  void emit_sum(Rewriter& rewriter, int index) const {
    std::vector<Value> operands;
    collect(rewriter, node(index).inputs[0], operands);
    operands.insert(operands.begin() + 1, rewriter.map(node(index).inputs[1]));
    rewriter.copy(index, std::move(operands));
  }

  // Gradients of a batch norm that read the dropped relu_gradient read its dy instead.
  template <class GradientOp>
  void emit_with_relu(Rewriter& rewriter, int index, GradientOp op) const {
    const Node& source = node(index);
    const int relu_gradient = source.inputs[1].node;
    const Node& forward = *batch_norm_of(relu_gradient);
    const auto& apply = *forward.op.as<BatchNormApply>();
    const auto at = apply.operands();
    const auto had = op.operands();
    std::vector<Value> operands;
    for (const Value value :
         {source.inputs[0], node(relu_gradient).inputs[0], source.inputs[2], source.inputs[3]}) {
      operands.push_back(rewriter.map(value));
    }
    for (const int i : {at.gamma, at.beta}) {
      if (i >= 0) operands.push_back(rewriter.map(forward.inputs[static_cast<std::size_t>(i)]));
    }
    for (std::size_t i = had.gamma < 0 ? 4 : 5; i < source.inputs.size(); ++i) {
      operands.push_back(rewriter.map(source.inputs[i]));
    }
    op.gamma = apply.gamma;
    op.beta = apply.beta;
    op.relu = true;
    rewriter.copy_as(op, index, std::move(operands));
  }

  const Graph& graph_;
  std::vector<std::vector<std::vector<Use>>> uses_;
  std::vector<bool> dropped_;
};

}  // namespace

Graph fuse_relu_gradients(const Graph& graph) {
  return GradientFusion(graph).run();
}

}  // namespace toroid
