// Every op's StableHLO against the reference backend in f64, on the CPU plugin.
#include "toroid/backends/xla/emitters.h"

#include "toroid/backends/case_runner.h"
#include "toroid/backends/reference/reference.h"
#include "toroid/backends/xla/xla.h"
#include "toroid/backends/xla/xla_testing.h"
#include "toroid/comm/self.h"
#include "toroid/ops/registry.h"

namespace toroid {
namespace {

TEST(Emitters, EveryOpHasOne) {
  for (const std::string_view name : op_names()) EXPECT_NE(emitter_of(name), nullptr) << name;
  EXPECT_ERROR(emitter_of("fold"), "the op fold has no StableHLO emission");
}

TEST(Emitters, F32IsWithinRoundingOfTheOracle) {
  SKIP_WITHOUT_PLUGIN();
  const auto xla = make_xla_backend({.devices = 1});
  SelfCommunicator self;
  const auto oracle = make_reference_backend(self);
  for (const CaseError& c : compare_with_oracle(*xla, *oracle)) {
    EXPECT_LT(c.error, 1e-6) << c.op << " (" << c.label << ") " << c.message;
  }
}

TEST(Emitters, F64AgreesWithTheOracle) {
  SKIP_WITHOUT_PLUGIN();
  const auto xla = make_xla_backend({.devices = 1});
  SelfCommunicator self;
  const auto oracle = make_reference_backend(self);
  for (const OpCase& op_case : op_cases(DType::f64)) {
    const auto operands = case_operands(op_case, 2);
    const auto got = run_case(*xla, op_case, operands);
    const auto wanted = run_case(*oracle, op_case, operands);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].type(), wanted[i].type());
      EXPECT_LT(relative_error(got[i], wanted[i]), 1e-13) << op_case.op << ' ' << op_case.label;
    }
  }
}

}  // namespace
}  // namespace toroid
