// Summing gradients over the data axis, in buckets that are sent while the backward pass goes on.
#pragma once

#include <cstdint>
#include <vector>

#include "toroid/graph/builder.h"

namespace toroid {

/// Each gradient summed over all replicas of the mesh. Buckets of up to `bucket_bytes` are filled
/// in the order in which the backward pass produces the gradients; all of one bucket have one
/// dtype. With one replica, the gradients themselves.
std::vector<Value> reduce_gradients(Builder& builder, const std::vector<Value>& gradients,
                                    std::int64_t bucket_bytes);

/// Moves each collective start to right after its last operand, so that it can travel while
/// later nodes run; the done stays where its results are needed. Starts keep their order.
Graph start_collectives_early(const Graph& graph);

}  // namespace toroid
