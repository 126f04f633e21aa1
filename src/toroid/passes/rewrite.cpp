#include "toroid/passes/rewrite.h"

#include "toroid/base/error.h"

namespace toroid {

Rewriter::Rewriter(const Graph& source) : source_(source), mapped_(source.nodes.size()) {
  target_.mesh = source.mesh;
  for (std::size_t i = 0; i < mapped_.size(); ++i) mapped_[i].resize(source.nodes[i].types.size());
}

void Rewriter::copy(int index) {
  std::vector<Value> inputs = source_.nodes[static_cast<std::size_t>(index)].inputs;
  for (Value& value : inputs) value = map(value);
  copy(index, std::move(inputs));
}

void Rewriter::copy(int index, std::vector<Value> inputs) {
  copy_as(source_.nodes[static_cast<std::size_t>(index)].op, index, std::move(inputs));
}

void Rewriter::copy_as(Op op, int index, std::vector<Value> inputs) {
  const Node& source = source_.nodes[static_cast<std::size_t>(index)];
  const int node = add(std::move(op), source.path, std::move(inputs)).node;
  auto& outputs = mapped_[static_cast<std::size_t>(index)];
  for (std::size_t k = 0; k < outputs.size(); ++k) outputs[k] = {node, static_cast<int>(k)};
}

Value Rewriter::add(Op op, const std::string& path, std::vector<Value> inputs) {
  std::vector<TensorType> types;
  for (const Value value : inputs) types.push_back(target_.type(value));
  auto outputs = op.infer(types);
  target_.nodes.push_back({std::move(op), path, std::move(inputs), std::move(outputs)});
  return {static_cast<int>(target_.nodes.size()) - 1, 0};
}

void Rewriter::replace(Value from, Value to) {
  mapped_[static_cast<std::size_t>(from.node)][static_cast<std::size_t>(from.index)] = to;
}

Value Rewriter::map(Value source) const {
  const Value value =
      mapped_[static_cast<std::size_t>(source.node)][static_cast<std::size_t>(source.index)];
  if (!value) fail("pass: {} is used but was not kept", source_.name(source));
  return value;
}

Graph Rewriter::finish() {
  for (Binding binding : source_.updates) {
    binding.value = map(binding.value);
    target_.updates.push_back(binding);
  }
  for (Binding binding : source_.outputs) {
    binding.value = map(binding.value);
    target_.outputs.push_back(binding);
  }
  verify(target_);
  return std::move(target_);
}

std::vector<std::vector<std::vector<Use>>> uses_of(const Graph& graph) {
  std::vector<std::vector<std::vector<Use>>> uses(graph.nodes.size());
  for (std::size_t i = 0; i < uses.size(); ++i) uses[i].resize(graph.nodes[i].types.size());
  const auto note = [&](Value value, int node, int position) {
    uses[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.index)].push_back(
        {node, position});
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const auto& inputs = graph.nodes[i].inputs;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      note(inputs[k], static_cast<int>(i), static_cast<int>(k));
    }
  }
  int bound = 0;
  for (const Binding& binding : graph.updates) note(binding.value, -1, bound++);
  for (const Binding& binding : graph.outputs) note(binding.value, -1, bound++);
  return uses;
}

}  // namespace toroid
