// The backend that hands whole graphs to XLA through a PJRT plugin: TPUs, NVIDIA GPUs, CPUs. One
// process drives all of its devices, one replica each.
#pragma once

#include <filesystem>
#include <memory>

#include "toroid/backends/backend.h"

namespace toroid {

struct XlaOptions {
  std::filesystem::path plugin;  ///< empty: default_pjrt_plugin()
  /// Replicas; 0: as many as the plugin has devices. A CPU plugin makes as many as asked for.
  int devices = 0;
};

/// The CPU plugin that tools/fetch_pjrt.sh installs for the build; Error when it is not there.
std::filesystem::path default_pjrt_plugin();

/// Opens the plugin's devices; Error when it cannot, or has fewer devices than asked for.
///
/// Graphs must have `devices` replicas on their data axis. Batches travel in their own element
/// types (images as u8). Variables live on the devices, one copy each; those that a graph updates
/// are donated to it, so that a step needs no second copy of the state.
std::unique_ptr<Backend> make_xla_backend(const XlaOptions& options);

}  // namespace toroid
