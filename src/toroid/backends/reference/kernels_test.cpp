#include "toroid/backends/reference/kernels.h"

#include <gtest/gtest.h>

#include "toroid/backends/case_runner.h"
#include "toroid/backends/reference/reference.h"
#include "toroid/comm/self.h"

namespace toroid {
namespace {

TEST(ReferenceKernels, EveryOpHasOne) {
  for (const std::string_view op : op_names()) {
    EXPECT_NE(reference::find_kernel(op), nullptr) << op;
  }
  EXPECT_EQ(reference::find_kernel("no_such_op"), nullptr);
}

// Inside a kernel all is double; only the result is rounded.
TEST(ReferenceKernels, F32ResultsAreThoseOfF64ButForRounding) {
  SelfCommunicator communicator;
  const auto backend = make_reference_backend(communicator);
  for (const CaseError& result : compare_with_oracle(*backend, *backend)) {
    EXPECT_LT(result.error, 3e-7) << result.op << ", " << result.label << ": " << result.message;
  }
}

}  // namespace
}  // namespace toroid
