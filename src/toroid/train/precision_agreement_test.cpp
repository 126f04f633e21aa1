// What bf16 and Winograd's algorithm change in one training step.
#include <cstdio>

#include "toroid/backends/cpu/cpu.h"
#include "toroid/base/machine.h"
#include "toroid/comm/threads.h"
#include "toroid/train/agreement_testing.h"
#include "toroid/train/testing.h"

namespace toroid {
namespace {

// The largest relative error of a parameter's gradient.
double worst_gradient(const StepResult& got, const StepResult& wanted) {
  double worst = 0;
  for (const auto& [name, value] : wanted.gradients) {
    const auto a = got.gradients.at(name).values<double>(), b = value.values<double>();
    std::vector<double> difference(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
    worst = std::max(worst, norm(difference) / norm(b));
  }
  return worst;
}

void print(const char* what, const StepResult& got, const StepResult& wanted) {
  std::printf("%s: relative error of the loss %.1e, of the worst gradient %.1e\n", what,
              std::abs(got.loss / wanted.loss - 1), worst_gradient(got, wanted));
}

// Stage 1 has 64 channels and 64 tiles of 4x4: what Winograd's algorithm takes. No activation is so
// near to 0 that its ReLU lets through in one precision and not in the other, which would hide all
// else.
TEST(WinogradAgreement, AResnetsStepStaysTheOracles) {
  if (kSanitized) GTEST_SKIP() << "large networks are left out under sanitizers";
  SelfCommunicator communicator;
  const StepCase c{"resnet18", 62, 3, 4, 4, 4};
  const StepResult oracle = oracle_of(c);
  const auto direct = make_cpu_backend(communicator, {.fast_convolutions = false});
  const auto fast = make_cpu_backend(communicator);
  const StepResult slow = step(*direct, c, "f32", 1, 0), quick = step(*fast, c, "f32", 1, 0);
  print("direct", slow, oracle);
  print("Winograd", quick, oracle);
  expect_agreement(slow, oracle);
  expect_agreement(quick, oracle);
  const bool has_winograd = instruction_set().starts_with("AVX-512");
  EXPECT_EQ(slow.gradients.at("optimizer/momentum/stem/conv/kernel")
                .identical(quick.gradients.at("optimizer/momentum/stem/conv/kernel")),
            !has_winograd);
}

struct Bf16Case {
  StepCase step;
  double to_oracle, to_exact;  // relative errors of a gradient
};

// Rounding an activation to 8 bits moves some over a ReLU's kink, and behind batch norm one that is
// rounded the other way moves all others of its channel: what comes of that is no mistake, but a
// small deep network's gradients tell of it. Single ops are compared more closely
// (backends/cpu/precision_test.cpp).
class Bf16Agreement : public testing::TestWithParam<Bf16Case> {};
INSTANTIATE_TEST_SUITE_P(Small, Bf16Agreement,
                         testing::Values(Bf16Case{{"mlp", 9, 3, 10, 10, 10}, 1e-2, 0.15},
                                         Bf16Case{{"cnn", 12, 1, 8, 8, 8}, 1e-2, 0.2},
                                         Bf16Case{{"resnet8", 11, 3, 12, 12, 12}, 0.1, 0.4},
                                         Bf16Case{{"resnet8", 14, 1, 12, 9, 6}, 0.1, 0.4}),
                         [](const auto& test) {
                           const StepCase& c = test.param.step;
                           return c.model + "_" + std::to_string(c.real) + "_of_" +
                                  std::to_string(c.batch);
                         });

TEST_P(Bf16Agreement, CpuTakesTheStepOfTheOracleInBf16) {
  SelfCommunicator communicator;
  const auto [c, to_oracle, to_exact] = GetParam();
  const StepResult got = step(*make_cpu_backend(communicator), c, "bf16", 1, 0);
  const StepResult oracle = step(*make_reference_backend(communicator), c, "bf16", 1, 0);
  const StepResult exact = oracle_of(c);
  print("cpu in bf16, reference in bf16", got, oracle);
  print("cpu in bf16, reference in f64", got, exact);
  expect_agreement(got, oracle, {1e-3, to_oracle, 1e-2});
  expect_agreement(got, exact, {1e-2, to_exact, 1e-2});
}

// XLA leaves out roundings inside what it fuses.
TEST_P(Bf16Agreement, XlaStaysAsNearToTheExactStep) {
  if (!plugin_present()) GTEST_SKIP() << "no PJRT CPU plugin; run tools/fetch_pjrt.sh";
  const auto& [c, to_oracle, to_exact] = GetParam();
  const StepResult got = step(*make_xla_backend({.devices = 1}), c, "bf16", 1, 0);
  const StepResult exact = oracle_of(c);
  print("xla in bf16, reference in f64", got, exact);
  expect_agreement(got, exact, {1e-2, to_exact, 1e-2});
}

// Clipping, averages and accumulation work on f32 variables whatever the activations are. Adam's
// second moments are squares of gradients.
TEST(Bf16AgreementOfEverythingOn, TwoCpuRanksMakeTheUpdateOfTheOracleInBf16) {
  run_ranks(2, [&](Communicator& communicator) {
    const auto backend = make_cpu_backend(communicator);
    const auto state = updated(*backend, "bf16", 2, communicator.rank());
    if (communicator.rank() != 0) return;
    SelfCommunicator self;
    expect_close(state, updated(*make_reference_backend(self), "bf16", 1, 0), 1e3, 0.2);
  });
}

}  // namespace
}  // namespace toroid
