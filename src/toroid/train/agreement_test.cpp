// One training step from the same state on every backend, against the f64 reference: loss to 1e-6
// relative, each gradient to 1e-4 in relative L2 norm.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "toroid/backends/cpu/cpu.h"
#include "toroid/backends/reference/reference.h"
#include "toroid/backends/xla/xla.h"
#include "toroid/base/random.h"
#include "toroid/base/testing.h"
#include "toroid/comm/self.h"
#include "toroid/comm/threads.h"
#include "toroid/train/engine.h"
#include "toroid/train/step.h"
#include "toroid/train/testing.h"

namespace toroid {
namespace {

struct Case {
  std::string model;
  std::int64_t size, channels, batch, real, batch_norm_batch;
};

StepOptions step_of(const Case& c, DType dtype, int replicas) {
  return {.model = c.model,
          .classes = 7,
          .image_height = c.size,
          .image_width = c.size,
          .channels = c.channels,
          .global_batch = c.batch,
          .replicas = replicas,
          .dtype = dtype,
          .batch_norm_batch = c.batch_norm_batch,
          .label_smoothing = 0.1};
}

Batch batch_of(const StepOptions& options, const Case& c, int replica) {
  const std::int64_t slots = replica_batch(options.global_batch, options.replicas);
  Batch batch{Tensor(DType::u8, Shape{slots, c.size, c.size, c.channels}),
              Tensor(DType::i32, Shape{slots}), Tensor(DType::u32, Shape{slots}),
              Tensor(DType::f32, Shape{slots})};
  const auto pixels = batch.images.values<std::uint8_t>();
  const std::size_t picture = pixels.size() / static_cast<std::size_t>(slots);
  for (std::int64_t i = 0; i < slots; ++i) {
    const std::int64_t position = replica * slots + i;
    if (position >= c.real) continue;
    const auto s = static_cast<std::size_t>(i);
    // An activation within rounding of zero may fall on the other side of a ReLU's kink, which
    // changes gradients by 1e-3 in any precision; with this seed none of these networks has one.
    Random random(4, "agreement", static_cast<std::uint32_t>(position));
    for (std::size_t k = 0; k < picture; ++k) {
      pixels[s * picture + k] = static_cast<std::uint8_t>(random.below(256));
    }
    batch.labels.values<std::int32_t>()[s] = static_cast<std::int32_t>(random.below(7));
    batch.weights.values<float>()[s] = 1;
  }
  return batch;
}

struct Result {
  double loss = 0;
  std::map<std::string, Tensor> gradients;  // the momentum buffers after a first step, as f64
  std::map<std::string, Tensor> moving;
};

Result step(Backend& backend, const Case& c, DType dtype, int replicas, int rank) {
  const StepOptions options = step_of(c, dtype, replicas);
  const bool masked = c.real < c.batch;
  const Graph graph = build_train_graph(options, masked);
  const auto executable = backend.compile(graph);
  const auto state = backend.create_state(state_schema(graph));
  for (const Variable& variable : step_variables(options)) {
    state->write(variable.name, initial_value(variable, 5));
  }
  std::vector<Batch> batches;
  for (int i = 0; i < backend.local_replicas(); ++i) {
    batches.push_back(batch_of(options, c, rank * backend.local_replicas() + i));
  }
  Result result;
  result.loss = executable->run(*state, batches, {.learning_rate = 0.1}).at("loss_sum").item();
  for (const StateVariable& variable : state->schema()) {
    const Tensor value = state->read(variable.name).converted(DType::f64);
    if (variable.name.starts_with("optimizer/momentum/")) result.gradients[variable.name] = value;
    if (variable.name.find("/moving_") != std::string::npos) result.moving[variable.name] = value;
  }
  return result;
}

double norm(std::span<const double> values) {
  double squares = 0;
  for (const double x : values) squares += x * x;
  return std::sqrt(squares);
}

void expect_close(const std::map<std::string, Tensor>& got,
                  const std::map<std::string, Tensor>& wanted, double total, double tolerance) {
  ASSERT_EQ(got.size(), wanted.size());
  for (const auto& [name, value] : wanted) {
    const auto a = got.at(name).values<double>(), b = value.values<double>();
    std::vector<double> difference(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
    // A gradient that is zero but for rounding (a bias before batch norm) is held to the whole's
    // scale.
    EXPECT_LE(norm(difference), tolerance * std::max(norm(b), 1e-6 * total)) << name;
  }
}

// Relative errors of an f32 step; Winograd's algorithm has larger ones.
struct Tolerance {
  double loss = 1e-6, gradient = 1e-4, moving = 1e-5;
};
constexpr Tolerance kWinograd{1e-5, 1e-3, 1e-4};

void expect_agreement(const Result& got, const Result& oracle, const Tolerance& tolerance = {}) {
  EXPECT_NEAR(got.loss, oracle.loss, tolerance.loss * std::abs(oracle.loss));
  double squares = 0;
  for (const auto& [name, value] : oracle.gradients)
    squares += std::pow(norm(value.values<double>()), 2);
  expect_close(got.gradients, oracle.gradients, std::sqrt(squares), tolerance.gradient);
  expect_close(got.moving, oracle.moving, 1, tolerance.moving);
}

Result oracle_of(const Case& c) {
  SelfCommunicator communicator;
  return step(*make_reference_backend(communicator), c, DType::f64, 1, 0);
}

bool plugin_present() {
  try {
    return std::filesystem::exists(default_pjrt_plugin());
  } catch (const Error&) {
    return false;
  }
}

const Case kSmallCases[] = {{"mlp", 9, 3, 10, 10, 10},
                            {"cnn", 12, 1, 8, 8, 8},
                            {"resnet8", 11, 3, 12, 12, 12},
                            {"resnet8", 14, 1, 12, 9, 6}};

std::string name_of(const testing::TestParamInfo<Case>& test) {
  return test.param.model + "_" + std::to_string(test.param.real) + "_of_" +
         std::to_string(test.param.batch);
}

// The oracle's loops over a large network take a minute there.

class LargeAgreement : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Large, LargeAgreement, testing::Values(Case{"resnet18", 33, 3, 3, 3, 3}),
                         name_of);

TEST_P(LargeAgreement, CpuTakesTheOraclesStep) {
  if (kSanitized) GTEST_SKIP() << "large networks are left out under sanitizers";
  SelfCommunicator communicator;
  const Result oracle = oracle_of(GetParam());
  const auto direct = make_cpu_backend(communicator, {.fast_convolutions = false});
  expect_agreement(step(*direct, GetParam(), DType::f32, 1, 0), oracle);
  const auto fast = make_cpu_backend(communicator);
  expect_agreement(step(*fast, GetParam(), DType::f32, 1, 0), oracle, kWinograd);
}

class Agreement : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Small, Agreement, testing::ValuesIn(kSmallCases), name_of);
INSTANTIATE_TEST_SUITE_P(Deep, Agreement, testing::Values(Case{"resnet20", 8, 1, 16, 16, 4}),
                         name_of);

// Without the deep network: XLA compiles it for half a minute.
class XlaAgreement : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Small, XlaAgreement, testing::ValuesIn(kSmallCases), name_of);

TEST_P(Agreement, CpuTakesTheOraclesStep) {
  SelfCommunicator communicator;
  const auto backend = make_cpu_backend(communicator);
  expect_agreement(step(*backend, GetParam(), DType::f32, 1, 0), oracle_of(GetParam()));
}

TEST_P(Agreement, TwoCpuRanksTakeTheOraclesStep) {
  const Result oracle = oracle_of(GetParam());
  std::vector<Result> results(2);
  run_ranks(2, [&](Communicator& communicator) {
    const auto backend = make_cpu_backend(communicator);
    const int rank = communicator.rank();
    results[static_cast<std::size_t>(rank)] = step(*backend, GetParam(), DType::f32, 2, rank);
  });
  expect_agreement(results[0], oracle);
  EXPECT_EQ(results[0].loss, results[1].loss);
  for (const auto& [name, value] : results[0].gradients) {
    EXPECT_TRUE(value.identical(results[1].gradients.at(name))) << name;
  }
}

TEST_P(XlaAgreement, TakesTheOraclesStepOnOneDeviceAndOnTwo) {
  if (!plugin_present()) GTEST_SKIP() << "no PJRT CPU plugin; run tools/fetch_pjrt.sh";
  const Result oracle = oracle_of(GetParam());
  for (const int devices : {1, 2}) {
    const auto backend = make_xla_backend({.devices = devices});
    expect_agreement(step(*backend, GetParam(), DType::f32, devices, 0), oracle);
  }
}

// One network of each family for ImageNet, in prediction: the oracle's step would take too long.
class PredictionAgreement : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Large, PredictionAgreement,
                         testing::Values(Case{"resnet50", 33, 3, 2, 2, 2},
                                         Case{"resnet50_v2", 33, 3, 2, 2, 2},
                                         Case{"inception_v3", 75, 3, 1, 1, 1},
                                         Case{"alexnet", 65, 3, 2, 2, 2},
                                         Case{"alexnet_bn", 64, 3, 1, 1, 1}),
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
  for (const auto& [backend, dtype] :
       {std::pair{reference.get(), DType::f64}, std::pair{cpu.get(), DType::f32}}) {
    const StepOptions options = step_of(GetParam(), dtype, 1);
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

// One update of everything that there is: a ragged batch in micro-batches, clipped, decayed but for
// the exclusions, with multipliers and averages. Adam's epsilon is large, so that rounding in tiny
// gradients stays rounding.
std::map<std::string, Tensor> updated(Backend& backend, DType dtype, int replicas, int rank) {
  const Case c{"resnet8", 11, 3, 12, 9, 3};
  StepOptions options = step_of(c, dtype, replicas);
  options.optimizer = {.name = "adamw",
                       .epsilon = 0.1,
                       .weight_decay = 0.1,
                       .exclude = {"*/beta", "classifier/bias"},
                       .multipliers = {{"classifier/*", 10}, {"stage?/*", 0.5}}};
  options.clip_norm = 0.3;
  options.ema = 0.99;
  options.accumulate = 2;
  Engine engine(backend, options);
  engine.initialize(5);
  StepOptions micro = options;
  micro.global_batch = options.micro_batch();
  for (const std::int64_t real : {6, 3}) {
    Case part = c;
    part.real = real;
    std::vector<Batch> batches;
    for (int i = 0; i < backend.local_replicas(); ++i) {
      batches.push_back(batch_of(micro, part, rank * backend.local_replicas() + i));
    }
    engine.accumulate(real < 6).run(engine.state(), batches, {});
  }
  engine.apply().run(engine.state(), {}, {.learning_rate = 0.1});
  std::map<std::string, Tensor> state;
  for (const NamedTensor& entry : engine.tensors()) {
    state[entry.name] = entry.tensor.converted(DType::f64);
  }
  return state;
}

std::map<std::string, Tensor> updated_by_oracle() {
  SelfCommunicator communicator;
  return updated(*make_reference_backend(communicator), DType::f64, 1, 0);
}

TEST(AgreementOfEverythingOn, TwoCpuRanksMakeTheOraclesUpdate) {
  run_ranks(2, [&](Communicator& communicator) {
    const auto backend = make_cpu_backend(communicator);
    const auto state = updated(*backend, DType::f32, 2, communicator.rank());
    if (communicator.rank() == 0) expect_close(state, updated_by_oracle(), 1e3, 1e-4);
  });
}

TEST(AgreementOfEverythingOn, XlaMakesTheOraclesUpdateOnTwoDevices) {
  if (!plugin_present()) GTEST_SKIP() << "no PJRT CPU plugin; run tools/fetch_pjrt.sh";
  const auto backend = make_xla_backend({.devices = 2});
  expect_close(updated(*backend, DType::f32, 2, 0), updated_by_oracle(), 1e3, 1e-4);
}

}  // namespace
}  // namespace toroid
