#include "toroid/train/op_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace toroid {

std::vector<OpTime> by_op(const std::vector<NodeTime>& nodes) {
  std::map<std::string_view, OpTime> sums;
  for (const NodeTime& node : nodes) {
    OpTime& sum = sums[node.op];
    sum.op = node.op;
    ++sum.nodes;
    if (node.runs > 0) sum.ms += node.seconds / static_cast<double>(node.runs) * 1e3;
    sum.gflops += node.cost.flops / 1e9;
    sum.gbytes += node.cost.bytes / 1e9;
  }
  std::vector<OpTime> ops;
  for (auto& [name, sum] : sums) ops.push_back(std::move(sum));
  std::ranges::stable_sort(ops, std::ranges::greater(), &OpTime::ms);
  return ops;
}

NamedValues seconds_by_op(const std::vector<NodeTime>& nodes) {
  std::map<std::string_view, double> sums;
  for (const NodeTime& node : nodes) sums[node.op] += node.seconds;
  NamedValues result;
  for (const auto& [op, seconds] : sums) result.push_back({std::string(op), seconds});
  std::ranges::stable_sort(result, std::ranges::greater(), &NamedValue::value);
  return result;
}

std::vector<TraceEvent> trace_events(const std::vector<NodeTime>& nodes,
                                     const std::vector<NodeEvent>& events) {
  std::vector<TraceEvent> result;
  for (const NodeEvent& event : events) {
    const NodeTime& node = nodes.at(static_cast<std::size_t>(event.node));
    result.push_back({.name = node.path,
                      .category = std::string(node.op),
                      .start_us = (event.start - events.front().start) * 1e6,
                      .duration_us = event.seconds * 1e6,
                      .lane = 0,
                      .detail = fmt::format("{}: {:.3f} GFLOP, {:.1f} MB", node.op,
                                            node.cost.flops / 1e9, node.cost.bytes / 1e6)});
  }
  return result;
}

}  // namespace toroid
