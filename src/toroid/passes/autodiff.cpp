#include "toroid/passes/autodiff.h"

#include "toroid/base/error.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/elementwise.h"

namespace toroid {
namespace {

class Differentiation {
 public:
  Differentiation(Builder& builder, std::span<const Value> wrt) : builder_(builder) {
    // Which nodes depend on `wrt`: everything else needs no gradient.
    const auto& nodes = builder.graph().nodes;
    depends_.resize(nodes.size());
    gradients_.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) gradients_[i].resize(nodes[i].types.size());
    for (const Value value : wrt) depends_[static_cast<std::size_t>(value.node)] = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const Value input : nodes[i].inputs) {
        if (depends_[static_cast<std::size_t>(input.node)]) depends_[i] = true;
      }
    }
  }

  void run(Value loss) {
    const TensorType type = builder_.type(loss);
    if (!type.shape.is_scalar() || !is_float(type.dtype)) {
      fail("gradients: the loss {} must be a float scalar, is {}", builder_.graph().name(loss),
           type.str());
    }
    accumulate(loss, constant(builder_, 1, type));
    for (int node = loss.node; node >= 0; --node) differentiate(node);
  }

  Value of(Value value) const {
    return gradients_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.index)];
  }

 private:
  void accumulate(Value value, Value gradient) {
    if (!gradient || !depends_[static_cast<std::size_t>(value.node)]) return;
    Value& sum =
        gradients_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.index)];
    sum = sum ? add(builder_, sum, gradient) : gradient;
  }

  void differentiate(int index) {
    const auto i = static_cast<std::size_t>(index);
    bool needed = false;
    for (const Value gradient : gradients_[i]) needed = needed || gradient;
    if (!needed || !depends_[i]) return;
    // A copy: adding nodes moves the graph's own.
    const Node node = builder_.graph().nodes[i];
    if (node.inputs.empty()) return;
    std::vector<Value> outputs;
    for (std::size_t k = 0; k < node.types.size(); ++k)
      outputs.push_back({index, static_cast<int>(k)});
    GradientContext context(builder_, node.inputs, outputs, gradients_[i]);
    const auto scope = builder_.scope(node.path);
    const Gradient gradient = node.op.gradient(context);
    if (const auto* refusal = std::get_if<NotDifferentiable>(&gradient)) {
      fail("{}: {} has no gradient: {}", node.path, node.op.label(), refusal->reason);
    }
    const auto& operands = std::get<std::vector<Value>>(gradient);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) accumulate(node.inputs[k], operands[k]);
  }

  Builder& builder_;
  std::vector<bool> depends_;
  std::vector<std::vector<Value>> gradients_;  // by node and output
};

}  // namespace

std::vector<Value> gradients(Builder& builder, Value loss, std::span<const Value> wrt) {
  const auto scope = builder.scope("gradient");
  Differentiation differentiation(builder, wrt);
  differentiation.run(loss);
  std::vector<Value> result;
  for (const Value value : wrt) result.push_back(differentiation.of(value));
  return result;
}

}  // namespace toroid
