#include "toroid/passes/gradient_reduction.h"

#include <algorithm>
#include <numeric>

#include "toroid/ops/collectives.h"
#include "toroid/passes/rewrite.h"

namespace toroid {

std::vector<Value> reduce_gradients(Builder& builder, const std::vector<Value>& gradients,
                                    std::int64_t bucket_bytes) {
  const int replicas = builder.graph().mesh.data;
  if (replicas == 1) return gradients;
  std::vector<std::size_t> order(gradients.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return gradients[a] < gradients[b]; });

  const auto scope = builder.scope("reduce_gradients");
  std::vector<Value> reduced(gradients.size());
  std::vector<std::size_t> members;
  std::int64_t bytes = 0;
  const auto send = [&] {
    std::vector<Value> bucket;
    for (const std::size_t i : members) bucket.push_back(gradients[i]);
    const auto sums = all_reduce(builder, std::move(bucket), replicas);
    for (std::size_t k = 0; k < members.size(); ++k) reduced[members[k]] = sums[k];
    members.clear();
    bytes = 0;
  };
  for (const std::size_t i : order) {
    const TensorType& type = builder.type(gradients[i]);
    const auto size = static_cast<std::int64_t>(type.bytes());
    if (!members.empty() &&
        (bytes + size > bucket_bytes || type.dtype != builder.type(gradients[members[0]]).dtype)) {
      send();
    }
    members.push_back(i);
    bytes += size;
  }
  if (!members.empty()) send();
  return reduced;
}

Graph start_collectives_early(const Graph& graph) {
  const int count = static_cast<int>(graph.nodes.size());
  // after[i]: starts that go right behind node i, in their old order.
  std::vector<std::vector<int>> after(graph.nodes.size());
  std::vector<bool> moved(graph.nodes.size());
  int earliest = 0;  // starts keep their order on every rank, so one may not pass another
  for (int i = 0; i < count; ++i) {
    const Node& node = graph.nodes[static_cast<std::size_t>(i)];
    if (node.op.collective().kind != CollectiveRole::Kind::kStart) continue;
    int last = earliest;
    for (const Value value : node.inputs) last = std::max(last, value.node);
    earliest = last;
    after[static_cast<std::size_t>(last)].push_back(i);
    moved[static_cast<std::size_t>(i)] = true;
  }
  Rewriter rewriter(graph);
  // A start never reads a value in flight, so no moved node waits for another.
  for (int i = 0; i < count; ++i) {
    if (!moved[static_cast<std::size_t>(i)]) rewriter.copy(i);
    for (const int start : after[static_cast<std::size_t>(i)]) rewriter.copy(start);
  }
  return rewriter.finish();
}

}  // namespace toroid
