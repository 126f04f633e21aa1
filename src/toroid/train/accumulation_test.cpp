// Gradient accumulation against the step of the whole batch, in f64 with the reference backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "toroid/backends/reference/reference.h"
#include "toroid/base/testing.h"
#include "toroid/comm/self.h"
#include "toroid/comm/threads.h"
#include "toroid/train/engine.h"
#include "toroid/train/testing.h"

namespace toroid {
namespace {

constexpr std::int64_t kGlobalBatch = 10;
// A full update, and one as at an epoch's end.
constexpr std::int64_t kExamples[] = {10, 7, 10, 1};

StepOptions options_of(const std::string& model, int replicas, int accumulate) {
  StepOptions options = small_options(model, replicas);
  options.global_batch = kGlobalBatch;
  options.accumulate = accumulate;
  options.batch_norm_batch = 2;
  options.optimizer = {.name = "adamw", .weight_decay = 0.01, .multipliers = {{"classifier/*", 3}}};
  options.clip_norm = 0.5;
  options.ema = 0.9;
  return options;
}

// The options of one micro-batch, as make_batch wants them.
StepOptions piece(StepOptions options) {
  options.global_batch = options.micro_batch();
  return options;
}

Outputs update(Engine& engine, int rank, std::uint32_t first, std::int64_t real,
               const Scalars& scalars) {
  const StepOptions small = piece(engine.options());
  const bool whole = engine.options().accumulate == 1;
  for (std::int64_t done = 0; done < real; done += small.global_batch) {
    const std::int64_t part = std::min(small.global_batch, real - done);
    const Batch batch = make_batch(small, rank, first + static_cast<std::uint32_t>(done), part);
    const bool masked = part != replica_batch(small.global_batch, small.replicas) * small.replicas;
    if (whole) return engine.train(masked).run(engine.state(), {&batch, 1}, scalars);
    engine.accumulate(masked).run(engine.state(), {&batch, 1}, scalars);
  }
  return engine.apply().run(engine.state(), {}, scalars);
}

struct Result {
  std::vector<Outputs> outputs;
  std::vector<NamedTensor> state;
};

Result train(const StepOptions& options) {
  Result result;
  run_ranks(options.replicas, [&](Communicator& communicator) {
    const auto backend = make_reference_backend(communicator);
    Engine engine(*backend, options);
    engine.initialize(7);
    std::uint32_t first = 0;
    for (const std::int64_t real : kExamples) {
      Outputs outputs = update(engine, communicator.rank(), first, real,
                               {.learning_rate = 0.01, .step = first > 0 ? 1 : 0});
      if (communicator.rank() == 0) result.outputs.push_back(std::move(outputs));
      first += static_cast<std::uint32_t>(real);
    }
    if (communicator.rank() == 0) result.state = engine.tensors();
  });
  return result;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.values<double>().size(); ++i) {
    largest = std::max(largest, std::abs(a.values<double>()[i] - b.values<double>()[i]));
  }
  return largest;
}

void expect_same(const Result& got, const Result& wanted) {
  for (std::size_t i = 0; i < wanted.outputs.size(); ++i) {
    for (const auto& [name, value] : wanted.outputs[i]) {
      EXPECT_NEAR(got.outputs[i].at(name).item(), value.item(), 1e-11 * std::abs(value.item()))
          << name << " of update " << i;
    }
  }
  ASSERT_EQ(got.state.size(), wanted.state.size());
  for (std::size_t i = 0; i < wanted.state.size(); ++i) {
    EXPECT_EQ(got.state[i].name, wanted.state[i].name);
    // Adam's variance is of the square of what is held to 1e-12.
    EXPECT_LT(largest_difference(got.state[i].tensor, wanted.state[i].tensor), 1e-11)
        << wanted.state[i].name;
  }
}

class Accumulation : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(MicroBatches, Accumulation, testing::Values(2, 3, 4, 10));

// Micro-batches of 5, of 4, 4 and 2, of 3, 3, 3 and 1, of 1.
TEST_P(Accumulation, TakesTheStepOfTheWholeBatchWhateverTheRemainders) {
  for (const int replicas : {1, 2, 3}) {
    expect_same(train(options_of("cnn", replicas, GetParam())), train(options_of("cnn", 1, 1)));
  }
}

// Statistics are over groups of 2 in both, and a micro-batch is 4 or 2 examples.
TEST(AccumulationWithBatchNorm, TakesTheSameStepWhereGroupsTileTheMicroBatch) {
  const Result whole = train(options_of("resnet8", 1, 1));
  for (const int accumulate : {3, 5}) {
    for (const int replicas : {1, 2}) {
      expect_same(train(options_of("resnet8", replicas, accumulate)), whole);
    }
  }
}

TEST(AccumulationWithBatchNorm, GroupsLieInsideAMicroBatch) {
  StepOptions options = options_of("resnet8", 1, 2);
  options.batch_norm_batch = 10;
  EXPECT_ERROR(step_variables(options), "groups of that many examples do not tile a batch of 5");
}

TEST(AccumulationOfNonFinite, LeavesTheStateAsItWasAndStartsAnewEverywhere) {
  run_ranks(2, [](Communicator& communicator) {
    const auto backend = make_reference_backend(communicator);
    Engine engine(*backend, options_of("resnet8", 2, 5));
    engine.initialize(7);
    const auto before = engine.tensors();
    // One rank's share of one micro-batch goes wrong.
    if (communicator.rank() == 1) {
      engine.state().write("accumulator/gradient/stem/conv/kernel",
                           Tensor::of<double>({3, 3, 1, 16}, std::vector<double>(144, INFINITY)));
    }
    const Scalars scalars{.learning_rate = 0.01};
    EXPECT_EQ(update(engine, communicator.rank(), 0, 10, scalars).at("finite").item(), 0);
    const auto after = engine.tensors();
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_TRUE(after[i].tensor.identical(before[i].tensor)) << after[i].name;
    }
    for (const Variable& variable : accumulation_variables(engine.options())) {
      EXPECT_TRUE(engine.state().read(variable.name).identical(Tensor(variable.type)))
          << variable.name;
    }
    EXPECT_EQ(update(engine, communicator.rank(), 0, 10, scalars).at("finite").item(), 1);
  });
}

TEST(AccumulationState, IsNoPartOfACheckpoint) {
  SelfCommunicator communicator;
  const auto backend = make_reference_backend(communicator);
  const Engine engine(*backend, options_of("cnn", 1, 2));
  for (const NamedTensor& entry : engine.tensors()) {
    EXPECT_FALSE(entry.name.starts_with("accumulator/")) << entry.name;
  }
}

}  // namespace
}  // namespace toroid
