#include "toroid/train/moving_statistics.h"

#include "toroid/ops/collectives.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/sum.h"

namespace toroid {
namespace {

void average_into(Builder& builder, const std::string& name, double momentum, Value batch,
                  std::vector<VariableUpdate>& updates) {
  const Value old = builder.input(InputKind::kState, name, builder.type(batch));
  const Value fresh =
      add(builder, multiply(builder, old, momentum), multiply(builder, batch, 1 - momentum));
  updates.push_back({name, old, fresh});
}

}  // namespace

std::vector<MovingLayer> moving_layers(const Net& net) {
  std::vector<MovingLayer> layers;
  for (const BatchStatistics& s : net.statistics()) {
    layers.push_back({s.path, s.momentum, {net.options().dtype, Shape{net.shape(s.mean).back()}}});
  }
  return layers;
}

std::vector<Value> group_sums(Net& net) {
  Builder& builder = net.builder();
  const auto scope = builder.scope("moving_statistics");
  std::vector<Value> sums;
  for (const BatchStatistics& s : net.statistics()) {
    const auto layer = builder.scope(s.path);
    const Value free = maximum(builder, add(builder, s.count, -1.0), 1.0);
    Value mean = s.mean;
    Value variance = multiply(builder, s.variance, divide(builder, s.count, free));
    Value present;
    if (net.options().weights) {
      const Value half = constant(builder, 0.5, builder.type(s.count).dtype);
      present = convert(builder, greater_equal(builder, s.count, half), net.options().dtype);
      mean = multiply(builder, mean, present);
      variance = multiply(builder, variance, present);
    } else {
      present = constant(builder, 1, builder.type(s.count));
    }
    for (const Value value : {mean, variance, present}) sums.push_back(sum(builder, value, {0}));
  }
  return sums;
}

std::vector<VariableUpdate> moving_statistics(Builder& builder,
                                              const std::vector<MovingLayer>& layers,
                                              const std::vector<Value>& sums, int replicas) {
  if (layers.empty()) return {};
  const auto scope = builder.scope("moving_statistics");
  const auto total = all_reduce(builder, sums, replicas);
  std::vector<VariableUpdate> updates;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& [path, momentum, type] = layers[i];
    const auto layer = builder.scope(path);
    const Value groups = maximum(builder, total[3 * i + 2], 1.0);
    average_into(builder, path + "/moving_mean", momentum, divide(builder, total[3 * i], groups),
                 updates);
    average_into(builder, path + "/moving_variance", momentum,
                 divide(builder, total[3 * i + 1], groups), updates);
  }
  return updates;
}

}  // namespace toroid
