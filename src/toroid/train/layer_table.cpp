#include "toroid/train/layer_table.h"

#include <map>

namespace toroid {
namespace {

std::string parent(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

const Input* variable_of(const Node& node) {
  const auto* input = node.op.as<Input>();
  return input != nullptr && input->kind == InputKind::kState ? input : nullptr;
}

class TableBuilder {
 public:
  TableBuilder(const Graph& graph, const std::vector<Variable>& variables) : graph_(graph) {
    for (const Variable& variable : variables) layers_[parent(variable.name)].push_back(variable);
  }

  std::vector<LayerRow> rows(std::int64_t batch) && {
    for (const Node& node : graph_.nodes) {
      if (node.inputs.empty() && variable_of(node) == nullptr) continue;  // pictures, constants
      LayerRow& row = row_of(node.path);
      if (variable_of(node) != nullptr) continue;
      row.output = node.types.front().shape;
      row.flops += flops(node) / static_cast<double>(batch);
    }
    return std::move(rows_);
  }

 private:
  double flops(const Node& node) const {
    std::vector<TensorType> inputs;
    for (const Value value : node.inputs) inputs.push_back(graph_.type(value));
    return node.op.cost(inputs, node.types).flops;
  }

  // That of the nearest scope with variables, else of the op itself; added when first met.
  LayerRow& row_of(const std::string& path) {
    std::string layer = parent(path);
    while (!layer.empty() && !layers_.contains(layer)) layer = parent(layer);
    if (layer.empty()) layer = path;
    const auto [known, added] = index_.try_emplace(layer, rows_.size());
    if (added) rows_.push_back({.path = layer, .variables = layers_[layer]});
    return rows_[known->second];
  }

  const Graph& graph_;
  std::map<std::string, std::vector<Variable>> layers_;  // by the scope of their variables
  std::map<std::string, std::size_t> index_;             // of each path's row
  std::vector<LayerRow> rows_;
};

}  // namespace

std::int64_t LayerRow::parameters() const {
  std::int64_t count = 0;
  for (const Variable& v : variables) count += v.trainable ? v.type.elements() : 0;
  return count;
}

LayerTable layer_table(const StepOptions& options) {
  std::vector<Variable> variables;
  for (Variable& variable : step_variables(options)) {
    if (!variable.name.starts_with("optimizer/")) variables.push_back(std::move(variable));
  }
  const Graph graph = build_predict_graph(options);
  const auto batch = static_cast<double>(options.global_batch);
  LayerTable table{.rows = TableBuilder(graph, variables).rows(options.global_batch),
                   .forward_flops = total_cost(graph).flops / batch,
                   .training_flops = total_cost(build_train_graph(options, false)).flops / batch};
  for (const Variable& variable : variables) {
    table.all += variable.type.elements();
    table.trainable += variable.trainable ? variable.type.elements() : 0;
  }
  return table;
}

}  // namespace toroid
