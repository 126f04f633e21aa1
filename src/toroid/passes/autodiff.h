// Reverse-mode automatic differentiation: the backward pass as ordinary ops of the same graph.
#pragma once

#include <span>
#include <vector>

#include "toroid/graph/builder.h"

namespace toroid {

/// The gradient of `loss` (a float scalar) with respect to each value of `wrt`; "no value" where
/// the loss does not depend on it. Nodes go into the builder's graph under the scope "gradient",
/// then the path of the node they belong to. Only nodes between `wrt` and the loss are visited.
/// Error naming the op when a gradient must pass through one that has none.
std::vector<Value> gradients(Builder& builder, Value loss, std::span<const Value> wrt);

}  // namespace toroid
