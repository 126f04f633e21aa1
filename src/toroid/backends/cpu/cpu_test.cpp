#include "toroid/backends/cpu/cpu.h"

#include "toroid/backends/case_runner.h"
#include "toroid/backends/cpu/kernel.h"
#include "toroid/backends/reference/reference.h"
#include "toroid/base/testing.h"
#include "toroid/comm/self.h"

namespace toroid {
namespace {

TEST(CpuKernels, EveryOpHasOne) {
  for (const std::string_view op : op_names()) EXPECT_NE(cpu::find_kernel(op), nullptr) << op;
  EXPECT_EQ(cpu::find_kernel("no_such_op"), nullptr);
}

TEST(CpuKernels, EveryCaseAgreesWithTheF64Oracle) {
  SelfCommunicator communicator;
  const auto oracle = make_reference_backend(communicator);
  for (const int threads : {1, 2}) {
    const auto backend = make_cpu_backend(communicator, {.threads = threads});
    for (const CaseError& result : compare_with_oracle(*backend, *oracle)) {
      EXPECT_LT(result.error, 1e-6) << result.op << ", " << result.label << ": " << result.message;
    }
  }
}

}  // namespace
}  // namespace toroid
