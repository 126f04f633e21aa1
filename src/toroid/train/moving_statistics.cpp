#include "toroid/train/moving_statistics.h"

#include "toroid/ops/collectives.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/sum.h"

namespace toroid {
namespace {

// Sums over a replica's groups of one layer's statistics, each [C].
struct GroupSums {
  Value mean, variance, groups;
};

GroupSums sum_groups(Net& net, const BatchStatistics& s) {
  Builder& builder = net.builder();
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
  return {sum(builder, mean, {0}), sum(builder, variance, {0}), sum(builder, present, {0})};
}

void average_into(Net& net, const std::string& name, double momentum, Value batch,
                  std::vector<VariableUpdate>& updates) {
  Builder& builder = net.builder();
  const Value old = builder.input(InputKind::kState, name, builder.type(batch));
  const Value fresh =
      add(builder, multiply(builder, old, momentum), multiply(builder, batch, 1 - momentum));
  updates.push_back({name, old, fresh});
}

}  // namespace

std::vector<VariableUpdate> moving_statistics(Net& net, int replicas) {
  Builder& builder = net.builder();
  const auto scope = builder.scope("moving_statistics");
  std::vector<Value> sums;
  for (const BatchStatistics& s : net.statistics()) {
    const auto layer = builder.scope(s.path);
    const GroupSums g = sum_groups(net, s);
    sums.insert(sums.end(), {g.mean, g.variance, g.groups});
  }
  if (net.statistics().empty()) return {};
  // A group of all replicas left the same statistics on each.
  const bool same_everywhere = net.groups().group_size == replicas;
  const auto total = all_reduce(builder, sums, same_everywhere ? 1 : replicas);
  std::vector<VariableUpdate> updates;
  for (std::size_t i = 0; i < net.statistics().size(); ++i) {
    const BatchStatistics& s = net.statistics()[i];
    const auto layer = builder.scope(s.path);
    const Value groups = maximum(builder, total[3 * i + 2], 1.0);
    average_into(net, s.path + "/moving_mean", s.momentum, divide(builder, total[3 * i], groups),
                 updates);
    average_into(net, s.path + "/moving_variance", s.momentum,
                 divide(builder, total[3 * i + 1], groups), updates);
  }
  return updates;
}

}  // namespace toroid
