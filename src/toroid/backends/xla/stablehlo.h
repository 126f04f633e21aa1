// A graph as a StableHLO module in text, which any PJRT plugin compiles.
#pragma once

#include <string>

#include "toroid/graph/graph.h"

namespace toroid {

/// The module: `mhlo.num_replicas` is the mesh's data axis, and @main is what each replica runs.
///
/// Its arguments are the graph's inputs in the order of their nodes; its results are the graph's
/// updates in order, then its outputs in order. A comment beside each says what it is. The argument
/// of a variable that is updated carries `tf.aliasing_output = K : i32`, K the number of the
/// result that takes its memory. Values are named after the paths of their nodes, '/' becoming '.'.
/// Products of f32 have the precision HIGHEST: a TPU would round the operands to bf16 otherwise.
std::string emit_stablehlo(const Graph& graph);

}  // namespace toroid
