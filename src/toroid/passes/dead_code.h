// Removes what no update and no output needs.
#pragma once

#include "toroid/graph/graph.h"

namespace toroid {

/// The graph without nodes that nothing reads. Inputs stay, read or not: they are the graph's
/// signature. A collective stays whole: its done keeps its start.
Graph remove_dead_code(const Graph& graph);

}  // namespace toroid
