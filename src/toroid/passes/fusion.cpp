#include "toroid/passes/fusion.h"

#include <map>
#include <optional>

#include "toroid/ops/batch_norm.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/relu.h"
#include "toroid/passes/rewrite.h"

namespace toroid {
namespace {

// What ends a chain that starts at a batch_norm_apply; the fused node stands where the chain ends.
struct Chain {
  int batch_norm = -1;
  Value residual;
  bool relu = false;
};

class Fusion {
 public:
  explicit Fusion(const Graph& graph) : graph_(graph), uses_(uses_of(graph)) { find_chains(); }

  Graph run() {
    Rewriter rewriter(graph_);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const int index = static_cast<int>(i);
      if (const auto chain = chains_.find(index); chain != chains_.end()) {
        emit(rewriter, index, chain->second);
      } else if (!inside_[i]) {
        rewriter.copy(index);
      }
    }
    return rewriter.finish();
  }

 private:
  // The node that alone uses this node's result.
  std::optional<Use> only_user(int node) const {
    const auto& users = uses_[static_cast<std::size_t>(node)][0];
    if (users.size() != 1 || users[0].node < 0) return std::nullopt;
    return users[0];
  }

  const Node& node(int index) const { return graph_.nodes[static_cast<std::size_t>(index)]; }

  void find_chains() {
    inside_.resize(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto* op = graph_.nodes[i].op.as<BatchNormApply>();
      // A residual that is itself a batch norm's result joins as an operand, not as a second chain.
      if (op == nullptr || op->residual || op->relu || inside_[i]) continue;
      follow(static_cast<int>(i));
    }
  }

  void follow(int start) {
    Chain chain;
    chain.batch_norm = start;
    int end = start;
    if (const auto use = only_user(end); use && is_residual_addition(use->node)) {
      const Value other = node(use->node).inputs[1 - static_cast<std::size_t>(use->position)];
      if (!chains_.contains(use->node)) {
        chain.residual = other;
        end = use->node;
      }
    }
    if (const auto use = only_user(end); use && node(use->node).op.as<Relu>() != nullptr) {
      chain.relu = true;
      end = use->node;
    }
    if (end == start || chains_.contains(end)) return;
    mark_inside(chain, end);
    chains_[end] = chain;
  }

  bool is_residual_addition(int index) const {
    const auto* binary = node(index).op.as<Binary>();
    if (binary == nullptr || binary->kind != BinaryKind::kAdd) return false;
    return graph_.type(node(index).inputs[0]) == graph_.type(node(index).inputs[1]);
  }

  // Everything from the batch norm up to (not with) the end is not copied on its own.
  void mark_inside(const Chain& chain, int end) {
    for (int at = chain.batch_norm; at != end; at = only_user(at)->node) {
      inside_[static_cast<std::size_t>(at)] = true;
    }
  }

  void emit(Rewriter& rewriter, int end, const Chain& chain) const {
    const Node& source = node(chain.batch_norm);
    BatchNormApply fused = *source.op.as<BatchNormApply>();
    fused.relu = chain.relu;
    std::vector<Value> operands;
    for (const Value value : source.inputs) operands.push_back(rewriter.map(value));
    if (chain.residual) {
      fused.residual = true;
      operands.insert(operands.begin() + fused.operands().residual, rewriter.map(chain.residual));
    }
    rewriter.replace({end, 0}, rewriter.add(fused, node(end).path, std::move(operands)));
  }

  const Graph& graph_;
  std::vector<std::vector<std::vector<Use>>> uses_;
  std::vector<bool> inside_;
  std::map<int, Chain> chains_;  // by end node
};

}  // namespace

Graph fuse_batch_norm(const Graph& graph) {
  return Fusion(graph).run();
}

}  // namespace toroid
