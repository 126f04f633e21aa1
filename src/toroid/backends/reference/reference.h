// The oracle: executes graphs with obvious loops in f32 and f64, one thread, deterministically.
#pragma once

#include <memory>

#include "toroid/backends/backend.h"
#include "toroid/comm/communicator.h"

namespace toroid {

/// A backend whose replica is this rank of `communicator`, which must outlive it. The dtypes in the
/// graph decide what is computed in; ops on bf16 are computed in f32, and bf16 results rounded.
/// Batch and scalar floats are converted to the graph's types.
std::unique_ptr<Backend> make_reference_backend(Communicator& communicator);

}  // namespace toroid
