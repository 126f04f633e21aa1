// What goes into a graph each step besides its state, with checks; for backends on the host.
#pragma once

#include <span>

#include "toroid/backends/backend.h"

namespace toroid {

/// At compile time: each batch and scalar input has a name the host knows and a fitting type;
/// Error naming the input.
void check_inputs(const Graph& graph);

/// The one batch of a backend that drives one replica, or null when the graph takes none; Error
/// unless exactly one is given to a graph that takes one.
const Batch* only_batch(const Graph& graph, std::span<const Batch> batches);

/// The batch's tensor for an input of kind kBatch, checked: it has the input's shape, and the
/// input's dtype unless both are floats (convert it then). Error naming the input.
const Tensor& batch_tensor(const Input& input, const Batch& batch);

/// The value of an input of kind kScalar, as a tensor of the input's type; Error when a step does
/// not fit 31 bits. Of a seed, the upper and lower 32 bits are combined by exclusive or.
Tensor scalar_tensor(const Input& input, const Scalars& scalars);
/// The same into `value`, a scalar of the input's type.
void set_scalar(const Input& input, const Scalars& scalars, Tensor& value);

}  // namespace toroid
