// The backend for real work on CPUs: oneDNN for convolutions and dense layers, own kernels for the
// rest, all buffers of a step in one arena that is planned when the graph is compiled.
#pragma once

#include <memory>

#include "toroid/backends/backend.h"
#include "toroid/comm/communicator.h"

namespace toroid {

struct CpuOptions {
  int threads = 0;  ///< 0: usable_threads(), or fewer where OMP_NUM_THREADS says so
  /// Winograd's algorithm for 3x3 convolutions of many channels: faster, with larger rounding
  /// errors.
  bool fast_convolutions = true;
  /// For tests: channel blocks of 8 or 16 wherever an op can have them, whatever convolutions want.
  int block_everything = 0;
};

/// A backend whose replica is this rank of `communicator`, which must outlive it; all ranks make
/// theirs together. It computes in f32 and bf16 and refuses graphs in f64. Denormals count as zero.
/// The same graph, state, batch, machine and number of threads give the same bits.
///
/// Several may be used in one process, each from its own thread.
std::unique_ptr<Backend> make_cpu_backend(Communicator& communicator, CpuOptions options = {});

}  // namespace toroid
