#include <map>
#include <set>

#include "toroid/base/error.h"
#include "toroid/graph/graph.h"

namespace toroid {
namespace {

// `user` reads a value of the nodes before node `end`.
void check_value(const Graph& graph, Value value, int end, const std::string& user) {
  if (value.node < 0 || value.node >= end) {
    fail("graph: {} uses a value that is not computed before it", user);
  }
  const auto outputs = graph.node(value).types.size();
  if (value.index < 0 || static_cast<std::size_t>(value.index) >= outputs) {
    fail("graph: {} uses output {} of {}, which has {}", user, value.index, graph.node(value).path,
         outputs);
  }
}

void check_operands(const Graph& graph, int index) {
  const Node& node = graph.nodes[static_cast<std::size_t>(index)];
  for (const Value value : node.inputs) check_value(graph, value, index, node.path);
}

// Updates and outputs read computed values, none of them in flight.
void check_bound_values(const Graph& graph, const std::vector<Binding>& bindings,
                        std::string_view kind) {
  for (const Binding& binding : bindings) {
    const std::string user = std::string(kind) + " " + binding.name;
    check_value(graph, binding.value, static_cast<int>(graph.nodes.size()), user);
    if (graph.node(binding.value).op.collective().kind == CollectiveRole::Kind::kStart) {
      fail("graph: {} uses a value in flight: {}", user, graph.name(binding.value));
    }
  }
}

void check_types(const Graph& graph, const Node& node) {
  std::vector<TensorType> inputs;
  for (const Value value : node.inputs) inputs.push_back(graph.type(value));
  if (node.op.infer(inputs) != node.types) {
    fail("graph: {}: the stored types are not those that {} infers", node.path, node.op.label());
  }
}

void check_bindings(const Graph& graph) {
  std::map<std::string, TensorType> variables;
  for (const Node& node : graph.nodes) {
    const auto* input = node.op.as<Input>();
    if (input == nullptr || input->kind != InputKind::kState) continue;
    if (!variables.emplace(input->name, input->type).second) {
      fail("graph: the variable {} has two inputs", input->name);
    }
  }
  check_bound_values(graph, graph.updates, "update");
  check_bound_values(graph, graph.outputs, "output");
  std::set<std::string> updated, named;
  for (const Binding& update : graph.updates) {
    const auto variable = variables.find(update.name);
    if (variable == variables.end()) fail("graph: update of unknown variable {}", update.name);
    if (variable->second != graph.type(update.value)) {
      fail("graph: the variable {} is {}, its update {} is {}", update.name, variable->second.str(),
           graph.name(update.value), graph.type(update.value).str());
    }
    if (!updated.insert(update.name).second) fail("graph: {} is updated twice", update.name);
  }
  for (const Binding& output : graph.outputs) {
    if (!named.insert(output.name).second) fail("graph: two outputs are named {}", output.name);
  }
}

// In flight: outputs of a start that no done has taken yet.
void check_collectives(const Graph& graph) {
  std::map<int, int> done_of;  // start node -> done node
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const CollectiveRole collective = node.op.collective();
    if (collective.group_size < 1 || graph.mesh.data % collective.group_size != 0) {
      fail("graph: {}: groups of {} do not divide {} replicas", node.path, collective.group_size,
           graph.mesh.data);
    }
    if (collective.kind == CollectiveRole::Kind::kStart) done_of[static_cast<int>(i)] = -1;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const auto start = done_of.find(node.inputs[k].node);
      if (start == done_of.end()) continue;
      const bool same = start->second == -1 || start->second == static_cast<int>(i);
      if (collective.kind != CollectiveRole::Kind::kDone || !same) {
        fail("graph: {} uses a value in flight: {}", node.path, graph.name(node.inputs[k]));
      }
      if (node.inputs.size() != graph.node(node.inputs[k]).types.size() ||
          node.inputs[k].index != static_cast<int>(k)) {
        fail("graph: {} must take all outputs of {} in order", node.path,
             graph.node(node.inputs[k]).path);
      }
      start->second = static_cast<int>(i);
    }
  }
  for (const auto& [start, done] : done_of) {
    if (done == -1) fail("graph: {} has no done", graph.node(Value{start, 0}).path);
  }
}

}  // namespace

void verify(const Graph& graph) {
  std::set<std::string> paths;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    check_operands(graph, static_cast<int>(i));
    check_types(graph, graph.nodes[i]);
    if (!paths.insert(graph.nodes[i].path).second) {
      fail("graph: two nodes have the path {}", graph.nodes[i].path);
    }
  }
  check_bindings(graph);
  check_collectives(graph);
}

}  // namespace toroid
