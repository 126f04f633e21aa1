#include "toroid/train/step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "toroid/backends/cpu/cpu.h"
#include "toroid/backends/reference/reference.h"
#include "toroid/base/testing.h"
#include "toroid/comm/self.h"
#include "toroid/comm/threads.h"
#include "toroid/models/model.h"
#include "toroid/train/engine.h"
#include "toroid/train/testing.h"

namespace toroid {
namespace {

struct Trajectory {
  std::vector<double> losses;
  std::map<std::string, Tensor> state;
};

// Epochs of 4 full global batches and a ragged one, on threads as ranks with the f64 reference.
Trajectory train(const std::string& model, int replicas, int steps, std::int64_t bn_batch = 12,
                 std::int64_t global_batch = 12) {
  Trajectory result;
  run_ranks(replicas, [&](Communicator& communicator) {
    StepOptions options = small_options(model, replicas);
    options.batch_norm_batch = bn_batch;
    options.global_batch = global_batch;
    const auto backend = make_reference_backend(communicator);
    const Graph masked = build_train_graph(options, true);
    const auto full_step = backend->compile(build_train_graph(options, false));
    const auto masked_step = backend->compile(masked);
    const auto state = backend->create_state(state_schema(masked));
    for (const Variable& variable : step_variables(options)) {
      state->write(variable.name, initial_value(variable, 7));
    }
    const bool divides = options.global_batch % replicas == 0;
    for (int step = 0; step < steps; ++step) {
      const std::int64_t real = step % 5 == 4 ? global_batch / 2 + 1 : global_batch;
      const Batch batch = make_batch(options, communicator.rank(),
                                     static_cast<std::uint32_t>(step % 5 * global_batch), real);
      Executable& executable = real == global_batch && divides ? *full_step : *masked_step;
      const Outputs outputs =
          executable.run(*state, {&batch, 1}, {.learning_rate = 0.05, .step = step});
      if (communicator.rank() != 0) continue;
      EXPECT_EQ(outputs.at("examples").item(), static_cast<double>(real));
      EXPECT_EQ(outputs.at("finite").item(), 1);
      result.losses.push_back(outputs.at("loss_sum").item() / static_cast<double>(real));
    }
    if (communicator.rank() == 0) {
      for (const StateVariable& v : state->schema()) result.state[v.name] = state->read(v.name);
    }
  });
  return result;
}

double relative_difference(const Tensor& a, const Tensor& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.values<double>().size(); ++i) {
    difference += std::pow(a.values<double>()[i] - b.values<double>()[i], 2);
    norm += std::pow(b.values<double>()[i], 2);
  }
  return std::sqrt(difference / std::max(norm, 1e-300));
}

class WorldSize : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Step, WorldSize, testing::Values(2, 3, 4, 5));

TEST_P(WorldSize, DoesNotChangeTheTrajectoryOfAResidualNetworkWithRaggedBatches) {
  static const Trajectory one = train("resnet8", 1, 20, 48, 48);
  const Trajectory many = train("resnet8", GetParam(), 20, 48, 48);
  for (std::size_t i = 0; i < one.losses.size(); ++i) {
    EXPECT_NEAR(many.losses[i], one.losses[i], 1e-9 * std::abs(one.losses[i])) << "step " << i;
  }
  for (const auto& [name, value] : one.state) {
    EXPECT_LT(relative_difference(many.state.at(name), value), 1e-7) << name;
  }
}

TEST(Step, BatchNormGroupsMeanTheSameInsideAReplicaAndOverSeveral) {
  const Trajectory one = train("resnet8", 1, 10, 6);
  for (const int replicas : {2, 4}) {
    const Trajectory many = train("resnet8", replicas, 10, 6);
    for (std::size_t i = 0; i < one.losses.size(); ++i) {
      EXPECT_NEAR(many.losses[i], one.losses[i], 1e-9 * std::abs(one.losses[i]));
    }
  }
}

TEST(Step, TheLossFallsForEverySmallModel) {
  for (const char* model : {"mlp", "cnn", "resnet8", "resnet14", "resnet20"}) {
    const Trajectory run = train(model, 1, 25);
    EXPECT_LT(run.losses.back(), 0.8 * run.losses.front()) << model;
  }
}

// On the cpu backend, for their size; the same few pictures again and again.
TEST(Step, TheLossFallsForLargeModels) {
  if (kSanitized) GTEST_SKIP() << "large networks are left out under sanitizers";
  SelfCommunicator communicator;
  const auto backend = make_cpu_backend(communicator);
  for (const char* model : {"resnet18", "inception_v3", "alexnet_bn"}) {
    StepOptions options = small_options(model, 1);
    options.dtype = DType::f32;
    options.image_height = options.image_width = 75;
    options.channels = 3;
    options.global_batch = options.batch_norm_batch = 8;
    Engine engine(*backend, options);
    engine.initialize(7);
    const Batch batch = make_batch(options, 0, 0, 8);
    std::vector<double> losses;
    for (int i = 0; i < 12; ++i) {
      const Outputs& outputs =
          engine.train(false).run(engine.state(), {&batch, 1}, {.learning_rate = 0.01, .step = i});
      losses.push_back(outputs.at("loss_sum").item());
    }
    EXPECT_LT(losses.back(), 0.8 * losses.front()) << model;
  }
}

TEST(Step, ANonFiniteStepLeavesTheStateAsItWasOnEveryRank) {
  run_ranks(3, [](Communicator& communicator) {
    const StepOptions options = small_options("resnet8", 3);
    const auto backend = make_reference_backend(communicator);
    const Graph graph = build_train_graph(options, false);
    const auto step = backend->compile(graph);
    const auto state = backend->create_state(state_schema(graph));
    for (const Variable& variable : step_variables(options)) {
      state->write(variable.name, initial_value(variable, 7));
    }
    // One rank only goes wrong, as a bad memory cell would.
    Tensor bias = state->read("classifier/bias");
    if (communicator.rank() == 2) bias.values<double>()[0] = std::nan("");
    state->write("classifier/bias", bias);
    const Tensor before = state->read("stem/conv/kernel");
    const Tensor mean = state->read("stem/norm/moving_mean");
    const Batch batch = make_batch(options, communicator.rank(), 0, 12);
    const Outputs outputs = step->run(*state, {&batch, 1}, {.learning_rate = 0.05});
    EXPECT_EQ(outputs.at("finite").item(), 0);
    EXPECT_TRUE(state->read("stem/conv/kernel").identical(before));
    EXPECT_TRUE(state->read("stem/norm/moving_mean").identical(mean));
  });
}

TEST(Step, PaddingDoesNotTouchLossOrState) {
  StepOptions options = small_options("resnet8", 1);
  run_ranks(1, [&](Communicator& communicator) {
    const auto backend = make_reference_backend(communicator);
    const Graph graph = build_train_graph(options, true);
    const auto step = backend->compile(graph);
    std::vector<Tensor> kernels;
    std::vector<double> losses;
    for (const std::uint8_t junk : {0, 255}) {
      const auto state = backend->create_state(state_schema(graph));
      for (const Variable& variable : step_variables(options)) {
        state->write(variable.name, initial_value(variable, 7));
      }
      Batch batch = make_batch(options, 0, 0, 7);
      for (std::size_t i = 7 * 64; i < 12 * 64; ++i) batch.images.values<std::uint8_t>()[i] = junk;
      losses.push_back(
          step->run(*state, {&batch, 1}, {.learning_rate = 0.05}).at("loss_sum").item());
      kernels.push_back(state->read("stem/conv/kernel"));
    }
    EXPECT_EQ(losses[0], losses[1]);
    EXPECT_TRUE(kernels[0].identical(kernels[1]));
  });
}

}  // namespace
}  // namespace toroid
