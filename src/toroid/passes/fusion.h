// Fusion of batch normalization with what follows it.
#pragma once

#include "toroid/graph/graph.h"

namespace toroid {

/// Rewrites batch_norm_apply -> [add residual] -> [relu] into one batch_norm_apply, where the
/// values between have no other user. Run it after autodiff: fused ops are not differentiated, and
/// the gradients of add and relu do not read the values that disappear.
Graph fuse_batch_norm(const Graph& graph);

}  // namespace toroid
