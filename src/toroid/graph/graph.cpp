#include "toroid/graph/graph.h"

#include <fmt/format.h>

#include "toroid/base/error.h"

namespace toroid {

std::vector<TensorType> Input::infer(Types inputs) const {
  if (!inputs.empty()) fail("an input takes no operands");
  return {type};
}

Gradient Input::gradient(GradientContext&) const {
  return std::vector<Value>{};
}

std::string Graph::name(Value value) const {
  if (!value) return "(none)";
  return value.index == 0 ? node(value).path : fmt::format("{}:{}", node(value).path, value.index);
}

std::string print(const Graph& graph) {
  std::string text = fmt::format("graph data={}\n", graph.mesh.data);
  const auto out = std::back_inserter(text);
  for (const Node& node : graph.nodes) {
    std::vector<std::string> types, operands;
    for (const TensorType& type : node.types) types.push_back(type.str());
    for (const Value value : node.inputs) operands.push_back(graph.name(value));
    const std::string attributes = node.op.attributes();
    fmt::format_to(out, "  {}: {} = {}({}){}{}\n", node.path, fmt::join(types, ", "),
                   node.op.label(), fmt::join(operands, ", "), attributes.empty() ? "" : " ",
                   attributes);
  }
  for (const Binding& update : graph.updates) {
    fmt::format_to(out, "update {} <- {}\n", update.name, graph.name(update.value));
  }
  for (const Binding& output : graph.outputs) {
    fmt::format_to(out, "output {} = {}{}\n", output.name, graph.name(output.value),
                   output.per_example ? " per example" : "");
  }
  return text;
}

Cost total_cost(const Graph& graph) {
  Cost total;
  for (const Node& node : graph.nodes) {
    std::vector<TensorType> inputs;
    for (const Value value : node.inputs) inputs.push_back(graph.type(value));
    const Cost cost = node.op.cost(inputs, node.types);
    total.flops += cost.flops;
    total.bytes += cost.bytes;
  }
  return total;
}

}  // namespace toroid
