// bf16 where it is fast and safe, f32 everywhere else.
#pragma once

#include "toroid/graph/graph.h"

namespace toroid {

/// Rewrites an f32 graph so that convolutions and the activations of rank 4 between them, and what
/// dense layers multiply, are bf16, converting where the two meet, each value once. Variables
/// (master weights), their gradients, batch-norm statistics, the results of dense layers, the loss,
/// metrics and optimizers stay f32, and sums inside the ops are formed in f32 (Micikevicius et al.,
/// "Mixed Precision Training", 2018; bf16 has f32's range, so that no loss scaling is needed). Run
/// it after differentiation and fusion.
Graph mixed_precision(const Graph& graph);

}  // namespace toroid
