#include "toroid/cli/backend_flags.h"

#include <CLI/CLI.hpp>

namespace toroid::cli {

void add_backend_flags(CLI::App& command, BackendOptions& options) {
  command.add_option("--backend", options.name, "cpu, xla or reference")
      ->check(CLI::IsMember({"cpu", "xla", "reference"}))
      ->capture_default_str();
  command.add_option("--plugin", options.plugin,
                     "xla: the PJRT plugin (default: the CPU plugin of tools/fetch_pjrt.sh)");
  command.add_option("--devices", options.devices, "xla: devices to use, one replica each")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
}

}  // namespace toroid::cli
