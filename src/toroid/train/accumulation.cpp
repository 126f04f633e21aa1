#include "toroid/train/accumulation.h"

#include <string>

#include "toroid/ops/constant.h"
#include "toroid/ops/elementwise.h"

namespace toroid {
namespace {

constexpr std::size_t kMetrics = 4;

// In the order of accumulators().
std::vector<Value> in_order(const StepSums& sums) {
  const MetricSums& m = sums.metrics;
  std::vector<Value> values{m.loss, m.top1, m.top5, m.examples};
  values.insert(values.end(), sums.gradients.begin(), sums.gradients.end());
  values.insert(values.end(), sums.statistics.begin(), sums.statistics.end());
  return values;
}

Value read(Builder& builder, const Variable& variable) {
  return builder.input(InputKind::kState, variable.name, variable.type);
}

}  // namespace

std::vector<Variable> accumulators(const ModelVariables& model, DType dtype) {
  std::vector<Variable> result;
  const auto add = [&](const std::string& name, const TensorType& type) {
    result.push_back({"accumulator/" + name, type, Initializer::kZeros, false});
  };
  for (const char* name : {"loss_sum", "top1", "top5", "examples"}) add(name, {dtype, Shape{}});
  for (const Variable& variable : model.all) {
    if (variable.trainable) add("gradient/" + variable.name, variable.type);
  }
  for (const MovingLayer& layer : model.moving) {
    for (const char* name : {"mean", "variance", "groups"}) {
      add("statistics/" + layer.path + "/" + name, layer.type);
    }
  }
  return result;
}

void accumulate(Builder& builder, const ModelVariables& model, DType dtype, const StepSums& sums) {
  const auto scope = builder.scope("accumulate");
  const auto variables = accumulators(model, dtype);
  const auto values = in_order(sums);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Value old = read(builder, variables[i]);
    builder.update(variables[i].name, add(builder, old, values[i]));
  }
}

StepSums take_accumulated(Builder& builder, const ModelVariables& model, DType dtype) {
  const auto scope = builder.scope("clear");
  const auto variables = accumulators(model, dtype);
  std::vector<Value> values;
  for (const Variable& variable : variables) {
    values.push_back(read(builder, variable));
    builder.update(variable.name, constant(builder, 0, variable.type));
  }
  const std::size_t statistics = 3 * model.moving.size();
  const auto first_gradient = values.begin() + kMetrics;
  const auto first_statistic = values.end() - static_cast<std::ptrdiff_t>(statistics);
  return {.metrics = {values[0], values[1], values[2], values[3]},
          .gradients = {first_gradient, first_statistic},
          .statistics = {first_statistic, values.end()}};
}

}  // namespace toroid
