// Built instead of the client where the PJRT C API's header was not found (cmake/modules.cmake).
#include "toroid/backends/xla/pjrt.h"
#include "toroid/base/error.h"

namespace toroid {

std::shared_ptr<PjrtClient> PjrtClient::create(const std::filesystem::path& plugin,
                                               const Options& /*options*/) {
  fail(
      "cannot load the plugin {}: this build of Toroid was made without the PJRT header; run "
      "tools/fetch_pjrt.sh, then build again",
      plugin.string());
}

}  // namespace toroid
