// The backend for real work on CPUs: oneDNN for convolutions and dense layers, own kernels for the
// rest, all buffers of a step in one arena that is planned when the graph is compiled.
#pragma once

#include <memory>

#include "toroid/backends/backend.h"
#include "toroid/comm/communicator.h"

namespace toroid {

struct CpuOptions {
  int threads = 0;  ///< 0: usable_threads(), or fewer where OMP_NUM_THREADS says so
};

/// A backend whose replica is this rank of `communicator`, which must outlive it. It computes in
/// f32 and refuses graphs in other float types. Denormals count as zero. The same graph, state,
/// batch, machine and number of threads give the same bits.
///
/// Several may be used in one process, each from its own thread.
std::unique_ptr<Backend> make_cpu_backend(Communicator& communicator, CpuOptions options = {});

}  // namespace toroid
