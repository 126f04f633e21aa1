// What a graph's nodes took, added up by op and laid out along time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "toroid/backends/backend.h"
#include "toroid/report/chrome_trace.h"
#include "toroid/report/named_value.h"

namespace toroid {

/// All nodes of one op.
struct OpTime {
  std::string op;
  std::int64_t nodes = 0;
  double ms = 0;      ///< of one run, on average
  double gflops = 0;  ///< done in one run, in 10^9 operations
  double gbytes = 0;  ///< operands and results of one run, in 10^9 bytes
};

/// Sums by op of one run, the longest first.
std::vector<OpTime> by_op(const std::vector<NodeTime>& nodes);

/// Seconds by op of all runs together, the longest first.
NamedValues seconds_by_op(const std::vector<NodeTime>& nodes);

/// One event for each run of a node, from the first one's start on. `events` are of `nodes`.
std::vector<TraceEvent> trace_events(const std::vector<NodeTime>& nodes,
                                     const std::vector<NodeEvent>& events);

}  // namespace toroid
