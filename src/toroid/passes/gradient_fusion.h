// Fusion of relu's gradient with what stands before and after it.
#pragma once

#include "toroid/graph/graph.h"

namespace toroid {

/// Where the gradients of several users meet at a relu, relu_gradient adds them itself. Where only
/// a batch norm's gradient reads a relu_gradient, that finds the relu again from its own operands
/// instead, and the relu_gradient disappears. Run it after fuse_batch_norm, which makes the relus
/// part of batch norms.
Graph fuse_relu_gradients(const Graph& graph);

}  // namespace toroid
