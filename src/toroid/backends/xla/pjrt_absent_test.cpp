#include "toroid/backends/xla/pjrt.h"
#include "toroid/base/testing.h"

namespace toroid {
namespace {

TEST(PjrtAbsent, ABuildWithoutTheHeaderSaysWhatToRun) {
  EXPECT_ERROR(PjrtClient::create("/opt/libtpu.so"),
               "cannot load the plugin /opt/libtpu.so: this build of Toroid was made without the "
               "PJRT header; run tools/fetch_pjrt.sh");
}

}  // namespace
}  // namespace toroid
