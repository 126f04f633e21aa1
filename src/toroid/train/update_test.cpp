// Optimizer updates by value, against hand-computed sequences.
#include <gtest/gtest.h>

#include <cmath>

#include "toroid/backends/reference/reference.h"
#include "toroid/comm/self.h"
#include "toroid/ops/constant.h"
#include "toroid/optim/optimizer.h"

namespace toroid {
namespace {

// Trains one scalar "layer/kernel" (or another name) from `start` with the given gradients and
// rates.
std::vector<double> run(const OptimizerOptions& options, double start,
                        const std::vector<double>& gradients, const std::vector<double>& rates,
                        const std::string& name = "layer/kernel") {
  const Variable variable{name, {DType::f64, Shape{}}};
  Builder builder;
  const Value w = builder.input(InputKind::kState, name, variable.type);
  const Value g = builder.input(InputKind::kState, "gradient", variable.type);
  const Value rate = builder.input(InputKind::kScalar, "learning_rate", variable.type);
  const Value step = convert(
      builder, builder.input(InputKind::kScalar, "step", {DType::i32, Shape{}}), DType::f64);
  for (const VariableUpdate& update :
       make_optimizer(options)->update(builder, variable, w, g, {rate, step})) {
    builder.update(update.variable, update.new_value);
  }
  const Graph graph = builder.finish();
  SelfCommunicator communicator;
  const auto backend = make_reference_backend(communicator);
  const auto state = backend->create_state(state_schema(graph));
  const auto executable = backend->compile(graph);
  state->write(name, Tensor::scalar(start));
  std::vector<double> values;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    state->write("gradient", Tensor::scalar(gradients[i]));
    executable->run(*state, {}, {.learning_rate = rates[i], .step = static_cast<std::int64_t>(i)});
    values.push_back(state->read(name).item());
  }
  return values;
}

// g = 1, momentum 0.9, rate 0.1 then 0.01: outside the buffer -0.1 - 0.01 * 1.9 = -0.119; a rate
// inside the buffer would give -0.2.
TEST(Sgd, TheRateStandsOutsideTheMomentumBuffer) {
  const auto w = run({.name = "sgd", .momentum = 0.9}, 0, {1, 1}, {0.1, 0.01});
  EXPECT_NEAR(w[0], -0.1, 1e-15);
  EXPECT_NEAR(w[1], -0.119, 1e-15);
}

// torch.optim.SGD(momentum=0.5, nesterov=True): buffer 1, 1.5 - 2 = -1.5, 0.25; the direction is
// g + 0.5 buffer = 1.5, -2.75, 1.125.
TEST(Sgd, NesterovLooksAheadAsInPyTorch) {
  const auto w =
      run({.name = "sgd", .momentum = 0.5, .nesterov = true}, 1, {1, -2, 1}, {0.1, 0.2, 0.4});
  EXPECT_NEAR(w[0], 0.85, 1e-15);
  EXPECT_NEAR(w[1], 1.4, 1e-15);
  EXPECT_NEAR(w[2], 0.95, 1e-15);
}

TEST(Optimizer, MultipliersScaleTheRateOfTheirParametersAlone) {
  OptimizerOptions options{.name = "sgd", .momentum = 0, .multipliers = {{"head/*", 10}}};
  EXPECT_NEAR(run(options, 1, {0.5}, {0.1}, "head/kernel")[0], 0.5, 1e-15);
  EXPECT_NEAR(run(options, 1, {0.5}, {0.1}, "stem/kernel")[0], 0.95, 1e-15);
}

TEST(Sgd, WeightDecayJoinsTheGradientUnlessExcluded) {
  const OptimizerOptions options{.name = "sgd", .momentum = 0, .weight_decay = 0.5};
  EXPECT_NEAR(run(options, 2, {1}, {0.1})[0], 2 - 0.1 * (1 + 0.5 * 2), 1e-15);
  EXPECT_NEAR(run(options, 2, {1}, {0.1}, "layer/bias")[0], 2 - 0.1 * 1, 1e-15);
}

// Kingma and Ba, algorithm 1, by hand: both moments are corrected to g and g^2 for constant g, so
// each step moves by rate * g / (|g| + epsilon).
TEST(Adam, ConstantGradientsMoveByTheRate) {
  const auto w = run({.name = "adam", .epsilon = 1e-8}, 1, {3, 3, 3}, {0.1, 0.1, 0.1});
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(w[static_cast<std::size_t>(i)], 1 - 0.1 * (i + 1) * 3 / (3 + 1e-8), 1e-12);
  }
}

TEST(Adam, FollowsTheAlgorithmForChangingGradients) {
  const std::vector<double> gradients{1, -2, 0.5}, rates{0.1, 0.2, 0.3};
  double m = 0, v = 0, w = 0.7;
  const auto values =
      run({.name = "adam", .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3}, w, gradients, rates);
  for (std::size_t i = 0; i < 3; ++i) {
    m = 0.8 * m + 0.2 * gradients[i];
    v = 0.95 * v + 0.05 * gradients[i] * gradients[i];
    const double t = static_cast<double>(i) + 1;
    w -= rates[i] * (m / (1 - std::pow(0.8, t))) / (std::sqrt(v / (1 - std::pow(0.95, t))) + 1e-3);
    EXPECT_NEAR(values[i], w, 1e-12);
  }
}

// The first step of Adam moves by rate * sign(g), up to epsilon; the decay takes rate * 0.1 of the
// weight besides. torch.optim.AdamW, by its documented algorithm.
TEST(AdamW, DecayIsTimesTheRateAndBypassesTheMoments) {
  const OptimizerOptions options{.name = "adamw", .epsilon = 1e-30, .weight_decay = 0.1};
  EXPECT_NEAR(run(options, 2, {3}, {0.5})[0], 2 - 0.5 * 0.1 * 2 - 0.5, 1e-14);
  EXPECT_NEAR(run(options, 2, {3}, {0.5}, "layer/bias")[0], 2 - 0.5, 1e-14);
  // The multiplier is of the whole rate, the decay's too.
  OptimizerOptions faster = options;
  faster.multipliers = {{"layer/*", 2}};
  EXPECT_NEAR(run(faster, 2, {3}, {0.25})[0], 2 - 0.5 * 0.1 * 2 - 0.5, 1e-14);
}

// Computed by torch.optim.AdamW's documented algorithm, theta = theta - rate lambda theta and so
// on, in 40 decimal digits.
TEST(AdamW, FollowsTheAlgorithmForChangingGradients) {
  const auto w =
      run({.name = "adamw", .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3, .weight_decay = 0.04},
          0.7, {1, -2, 0.5}, {0.1, 0.2, 0.3});
  const double expected[] = {0.59729990009990010, 0.67615513052127006, 0.71093169608709883};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(w[i], expected[i], 1e-14);
}

}  // namespace
}  // namespace toroid
