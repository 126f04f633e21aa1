#include "toroid/backends/cpu/lay_out.h"

#include <map>
#include <set>

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/relayout.h"
#include "toroid/base/error.h"
#include "toroid/ops/conv2d.h"
#include "toroid/passes/rewrite.h"

namespace toroid::cpu {
namespace {

bool is_kernel(Layout layout) {
  return layout == Layout::kKernel8 || layout == Layout::kKernel16;
}

class LayoutPass {
 public:
  LayoutPass(const Graph& source, const LayoutRules& rules)
      : source_(source), rules_(rules), rewriter_(source) {}

  LaidOutGraph run() {
    for (int i = 0; i < static_cast<int>(source_.nodes.size()); ++i) place(i);
    const auto updates = bind(source_.updates, [&](const Binding& update) {
      return kernel_layout(source_.type(update.value), rules_.kernel_block);
    });
    const auto outputs = bind(source_.outputs, [](const Binding&) { return Layout::kRowMajor; });
    Graph graph = rewriter_.finish();
    for (std::size_t i = 0; i < updates.size(); ++i) graph.updates[i].value = updates[i];
    for (std::size_t i = 0; i < outputs.size(); ++i) graph.outputs[i].value = outputs[i];
    return {std::move(graph), std::move(layouts_)};
  }

 private:
  const Node& node(int index) const { return source_.nodes[static_cast<std::size_t>(index)]; }
  const TensorType& type(Value value) const { return source_.type(value); }

  // The layout of a source value as it was computed.
  Layout& computed(Value source) {
    const Value value = rewriter_.map(source);
    return layouts_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.index)];
  }

  void place(int index) {
    const Node& node = this->node(index);
    if (const auto* input = node.op.as<Input>()) {
      const bool variable = input->kind == InputKind::kState;
      return emit(index,
                  {variable ? kernel_layout(input->type, rules_.kernel_block) : Layout::kRowMajor});
    }
    switch (layout_policy(node)) {
      case LayoutPolicy::kConvolution:
        return place_convolution(index);
      case LayoutPolicy::kElementwise:
        return follow(index, true);
      case LayoutPolicy::kChannels:
        return follow(index, false);
      case LayoutPolicy::kEach: {
        std::vector<Layout> layouts;
        for (const Value value : node.inputs) layouts.push_back(settled(value));
        layouts.resize(node.types.size(), Layout::kRowMajor);
        return emit(index, std::move(layouts));
      }
      case LayoutPolicy::kSource:
        emit(index, std::vector(node.types.size(), Layout::kRowMajor));
        open_.insert({index, 0});
        return;
      case LayoutPolicy::kAnyElementwise:
        for (const Value value : node.inputs) settled(value);
        return emit(index, std::vector(node.types.size(), Layout::kRowMajor));
      case LayoutPolicy::kAnyActivation:
        for (const Value value : node.inputs) {
          if (is_kernel(settled(value))) want(value, Layout::kRowMajor);
        }
        return emit(index, std::vector(node.types.size(), Layout::kRowMajor));
      case LayoutPolicy::kRowMajor:
        for (const Value value : node.inputs) want(value, Layout::kRowMajor);
        return emit(index, std::vector(node.types.size(), Layout::kRowMajor));
    }
  }

  // Copies the node with its operands in the layouts that were last wanted of them.
  void emit(int index, std::vector<Layout> layouts) {
    std::vector<Value> operands;
    for (const Value value : node(index).inputs) operands.push_back(wanted(value));
    rewriter_.copy(index, std::move(operands));
    layouts_.push_back(std::move(layouts));
    wanted_.clear();
  }

  // What the next node reads for a source value.
  Value wanted(Value source) const {
    const auto moved = wanted_.find(source);
    return moved == wanted_.end() ? rewriter_.map(source) : moved->second;
  }

  // The layout of a value; one that was open stays as it is from now on.
  Layout settled(Value source) {
    open_.erase(source);
    return computed(source);
  }

  // The next node to be emitted shall read this operand in that layout.
  void want(Value source, Layout layout) {
    if (open_.contains(source)) {
      open_.erase(source);
      if (!is_kernel(layout) && fits(type(source), layout)) computed(source) = layout;
    }
    const Layout from = computed(source);
    if (from == layout) return;
    auto& moved = moved_[{source, layout}];
    if (!moved) {
      moved = rewriter_.add(Relayout{from, layout},
                            source_.name(source) + "/" + std::string(name_of(layout)),
                            {rewriter_.map(source)});
      layouts_.push_back({layout});
    }
    wanted_[source] = moved;
  }

  void place_convolution(int index) {
    const Node& node = this->node(index);
    const bool forward = node.op.as<Conv2d>() != nullptr;
    const bool to_input = node.op.as<Conv2dInputGradient>() != nullptr;
    const Value first = node.inputs[0], second = node.inputs[1];
    const TensorType& x = to_input ? node.types[0] : type(first);
    const TensorType& kernel = forward || to_input ? type(second) : node.types[0];
    const TensorType& y = forward ? node.types[0] : to_input ? type(first) : type(second);
    const ConvolutionLayouts chosen = rules_.convolution(node, x, kernel, y);
    const Layout of_kernel = kernel_layout(kernel, chosen.blocked_kernel ? rules_.kernel_block : 0);
    want(first, to_input ? chosen.y : chosen.x);
    if (!forward && !to_input) {
      want(second, chosen.y);
      return emit(index, {of_kernel});
    }
    want(second, of_kernel);
    if (forward) preferred_ = chosen.y;
    emit(index, {forward ? chosen.y : chosen.x});
  }

  // One layout for all tensors of rank 4: that of the first operand whose layout is settled.
  void follow(int index, bool kernels_too) {
    const Node& node = this->node(index);
    std::vector<Value> operands;
    for (const Value value : node.inputs) {
      if (type(value).shape.rank() == 4) operands.push_back(value);
    }
    Layout layout = rules_.every != Layout::kRowMajor ? rules_.every : preferred_;
    for (const Value value : operands) {
      if (open_.contains(value) || rules_.every != Layout::kRowMajor) continue;
      layout = computed(value);
      break;
    }
    bool usable = !is_kernel(layout) || kernels_too;
    for (const Value value : operands) usable = usable && fits(type(value), layout);
    for (const TensorType& output : node.types) {
      usable = usable && (output.shape.rank() != 4 || fits(output, layout));
    }
    if (!usable) layout = Layout::kRowMajor;
    for (const Value value : operands) want(value, layout);
    std::vector<Layout> layouts;
    for (const TensorType& output : node.types) {
      layouts.push_back(output.shape.rank() == 4 ? layout : Layout::kRowMajor);
    }
    emit(index, std::move(layouts));
  }

  // The new value of each binding, in the layout that the binding must have.
  template <class F>
  std::vector<Value> bind(const std::vector<Binding>& bindings, F layout_of) {
    std::vector<Value> values;
    for (const Binding& binding : bindings) {
      want(binding.value, layout_of(binding));
      values.push_back(wanted(binding.value));
      wanted_.clear();
    }
    return values;
  }

  const Graph& source_;
  const LayoutRules& rules_;
  Rewriter rewriter_;
  std::vector<std::vector<Layout>> layouts_;         // by target node and output
  std::set<Value> open_;                             // source values that take any layout
  std::map<std::pair<Value, Layout>, Value> moved_;  // by source value
  std::map<Value, Value> wanted_;                    // by source value, for the next node
  Layout preferred_ = Layout::kRowMajor;             // of the last convolution's result
};

}  // namespace

LaidOutGraph lay_out(const Graph& graph, const LayoutRules& rules) {
  return LayoutPass(graph, rules).run();
}

}  // namespace toroid::cpu
