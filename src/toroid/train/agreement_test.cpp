// One training step from the same state on every backend, against the f64 reference: loss to 1e-6
// relative, each gradient to 1e-4 in relative L2 norm.
#include <gtest/gtest.h>

#include "toroid/backends/cpu/cpu.h"
#include "toroid/backends/reference/reference.h"
#include "toroid/backends/xla/xla.h"
#include "toroid/base/random.h"
#include "toroid/comm/self.h"
#include "toroid/comm/threads.h"
#include "toroid/train/agreement_testing.h"
#include "toroid/train/testing.h"

namespace toroid {
namespace {

const StepCase kSmallCases[] = {{"mlp", 9, 3, 10, 10, 10},
                                {"cnn", 12, 1, 8, 8, 8},
                                {"resnet8", 11, 3, 12, 12, 12},
                                {"resnet8", 14, 1, 12, 9, 6}};

std::string name_of(const testing::TestParamInfo<StepCase>& test) {
  return test.param.model + "_" + std::to_string(test.param.real) + "_of_" +
         std::to_string(test.param.batch);
}

class Agreement : public testing::TestWithParam<StepCase> {};
INSTANTIATE_TEST_SUITE_P(Small, Agreement, testing::ValuesIn(kSmallCases), name_of);
INSTANTIATE_TEST_SUITE_P(Deep, Agreement, testing::Values(StepCase{"resnet20", 8, 1, 16, 16, 4}),
                         name_of);

// Without the deep network: XLA compiles it for half a minute.
class XlaAgreement : public testing::TestWithParam<StepCase> {};
INSTANTIATE_TEST_SUITE_P(Small, XlaAgreement, testing::ValuesIn(kSmallCases), name_of);

TEST_P(Agreement, CpuTakesTheOraclesStep) {
  SelfCommunicator communicator;
  const auto backend = make_cpu_backend(communicator);
  expect_agreement(step(*backend, GetParam(), "f32", 1, 0), oracle_of(GetParam()));
}

TEST_P(Agreement, TwoCpuRanksTakeTheOraclesStep) {
  const StepResult oracle = oracle_of(GetParam());
  std::vector<StepResult> results(2);
  run_ranks(2, [&](Communicator& communicator) {
    const auto backend = make_cpu_backend(communicator);
    const int rank = communicator.rank();
    results[static_cast<std::size_t>(rank)] = step(*backend, GetParam(), "f32", 2, rank);
  });
  expect_agreement(results[0], oracle);
  EXPECT_EQ(results[0].loss, results[1].loss);
  for (const auto& [name, value] : results[0].gradients) {
    EXPECT_TRUE(value.identical(results[1].gradients.at(name))) << name;
  }
}

TEST_P(XlaAgreement, TakesTheOraclesStepOnOneDeviceAndOnTwo) {
  if (!plugin_present()) GTEST_SKIP() << "no PJRT CPU plugin; run tools/fetch_pjrt.sh";
  const StepResult oracle = oracle_of(GetParam());
  for (const int devices : {1, 2}) {
    const auto backend = make_xla_backend({.devices = devices});
    expect_agreement(step(*backend, GetParam(), "f32", devices, 0), oracle);
  }
}

// One network of each family for ImageNet, in prediction: the oracle's step would take too long.
class PredictionAgreement : public testing::TestWithParam<StepCase> {};
INSTANTIATE_TEST_SUITE_P(Large, PredictionAgreement,
                         testing::Values(StepCase{"resnet50", 33, 3, 2, 2, 2},
                                         StepCase{"resnet50_v2", 33, 3, 2, 2, 2},
                                         StepCase{"inception_v3", 75, 3, 1, 1, 1},
                                         StepCase{"alexnet", 65, 3, 2, 2, 2},
                                         StepCase{"alexnet_bn", 64, 3, 1, 1, 1}),
                         name_of);

// Of a network that has been trained: no biases of 0 and variances of 1, which would hide mistakes.
Tensor value_of(const Variable& variable) {
  if (variable.name.ends_with("/kernel")) return initial_value(variable, 5);
  const bool scale = variable.name.ends_with("gamma") || variable.name.ends_with("variance");
  Tensor values(DType::f64, variable.type.shape);
  Random random(5, variable.name);
  for (double& x : values.values<double>()) x = random.uniform(-0.3, 0.3) + (scale ? 1 : 0);
  return values.converted(variable.type.dtype);
}

TEST_P(PredictionAgreement, CpuPredictsWhatTheOracleDoes) {
  if (kSanitized) GTEST_SKIP() << "large networks are left out under sanitizers";
  SelfCommunicator communicator;
  const auto reference = make_reference_backend(communicator), cpu = make_cpu_backend(communicator);
  std::vector<Tensor> logits;
  for (const auto& [backend, precision] :
       {std::pair{reference.get(), "f64"}, std::pair{cpu.get(), "f32"}}) {
    const StepOptions options = step_of(GetParam(), precision, 1);
    const Graph graph = build_predict_graph(options);
    const auto state = backend->create_state(state_schema(graph));
    for (const Variable& variable : step_variables(options)) {
      if (!variable.name.starts_with("optimizer/")) state->write(variable.name, value_of(variable));
    }
    const Batch batch = batch_of(options, GetParam(), 0);
    const Outputs outputs = backend->compile(graph)->run(*state, {&batch, 1}, {});
    logits.push_back(outputs.at("logits").converted(DType::f64));
  }
  expect_close({{"logits", logits[1]}}, {{"logits", logits[0]}}, 1, 1e-5);
}

std::map<std::string, Tensor> updated_by_oracle() {
  SelfCommunicator communicator;
  return updated(*make_reference_backend(communicator), "f64", 1, 0);
}

TEST(AgreementOfEverythingOn, TwoCpuRanksMakeTheOraclesUpdate) {
  run_ranks(2, [&](Communicator& communicator) {
    const auto backend = make_cpu_backend(communicator);
    const auto state = updated(*backend, "f32", 2, communicator.rank());
    if (communicator.rank() == 0) expect_close(state, updated_by_oracle(), 1e3, 1e-4);
  });
}

TEST(AgreementOfEverythingOn, XlaMakesTheOraclesUpdateOnTwoDevices) {
  if (!plugin_present()) GTEST_SKIP() << "no PJRT CPU plugin; run tools/fetch_pjrt.sh";
  const auto backend = make_xla_backend({.devices = 2});
  expect_close(updated(*backend, "f32", 2, 0), updated_by_oracle(), 1e3, 1e-4);
}

}  // namespace
}  // namespace toroid
