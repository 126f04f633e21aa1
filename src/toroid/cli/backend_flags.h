// Flags that several commands share.
#pragma once

#include "toroid/train/engine.h"

namespace CLI {
class App;
}

namespace toroid::cli {

/// --backend, --plugin, --devices.
void add_backend_flags(CLI::App& command, BackendOptions& options);

}  // namespace toroid::cli
