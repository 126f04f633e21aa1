#include "toroid/train/weight_average.h"

#include <string_view>

#include "toroid/ops/constant.h"
#include "toroid/ops/elementwise.h"

namespace toroid {
namespace {

constexpr std::string_view kPrefix = "ema/";

}  // namespace

std::string average_name(const std::string& variable) {
  return std::string(kPrefix) + variable;
}

bool is_average(const std::string& variable) {
  return variable.starts_with(kPrefix);
}

std::vector<Variable> average_variables(const std::vector<Variable>& model) {
  std::vector<Variable> averages = model;
  for (Variable& average : averages) {
    average.name = average_name(average.name);
    average.trainable = false;
  }
  return averages;
}

std::vector<VariableUpdate> average_weights(Builder& builder, double decay, Value step,
                                            const std::vector<VariableUpdate>& updates) {
  const auto scope = builder.scope("average_weights");
  const Value nine = constant(builder, 9, builder.type(step));
  const Value share = maximum(builder, divide(builder, nine, add(builder, step, 10.0)), 1 - decay);
  std::vector<VariableUpdate> averages;
  for (const VariableUpdate& update : updates) {
    const std::string name = average_name(update.variable);
    const auto inner = builder.scope(update.variable);
    const Value old = builder.input(InputKind::kState, name, builder.type(update.new_value));
    const Value difference = subtract(builder, update.new_value, old);
    averages.push_back({name, old, add(builder, old, multiply(builder, difference, share))});
  }
  return averages;
}

Graph read_averages(Graph graph) {
  for (Node& node : graph.nodes) {
    const auto* input = node.op.as<Input>();
    if (input == nullptr || input->kind != InputKind::kState) continue;
    Input average = *input;
    node.path = average.name = average_name(input->name);
    node.op = std::move(average);
  }
  verify(graph);
  return graph;
}

}  // namespace toroid
