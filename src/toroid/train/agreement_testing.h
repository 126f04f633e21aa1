// One training step of a network from a fixed state on fixed pictures, for the tests that compare
// backends and precisions.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "toroid/backends/reference/reference.h"
#include "toroid/backends/xla/xla.h"
#include "toroid/base/error.h"
#include "toroid/base/random.h"
#include "toroid/comm/self.h"
#include "toroid/train/engine.h"
#include "toroid/train/precision.h"
#include "toroid/train/step.h"

namespace toroid {

struct StepCase {
  std::string model;
  std::int64_t size, channels, batch, real, batch_norm_batch;
};

inline StepOptions step_of(const StepCase& c, const std::string& precision, int replicas) {
  StepOptions options{.model = c.model,
                      .classes = 7,
                      .image_height = c.size,
                      .image_width = c.size,
                      .channels = c.channels,
                      .global_batch = c.batch,
                      .replicas = replicas,
                      .batch_norm_batch = c.batch_norm_batch,
                      .label_smoothing = 0.1};
  set_precision(options, precision);
  return options;
}

inline Batch batch_of(const StepOptions& options, const StepCase& c, int replica) {
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

struct StepResult {
  double loss = 0;
  std::map<std::string, Tensor> gradients;  // the momentum buffers after a first step, as f64
  std::map<std::string, Tensor> moving;
};

inline StepResult step(Backend& backend, const StepCase& c, const std::string& precision,
                       int replicas, int rank) {
  const StepOptions options = step_of(c, precision, replicas);
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
  StepResult result;
  result.loss = executable->run(*state, batches, {.learning_rate = 0.1}).at("loss_sum").item();
  for (const StateVariable& variable : state->schema()) {
    const Tensor value = state->read(variable.name).converted(DType::f64);
    if (variable.name.starts_with("optimizer/momentum/")) result.gradients[variable.name] = value;
    if (variable.name.find("/moving_") != std::string::npos) result.moving[variable.name] = value;
  }
  return result;
}

inline double norm(std::span<const double> values) {
  double squares = 0;
  for (const double x : values) squares += x * x;
  return std::sqrt(squares);
}

inline void expect_close(const std::map<std::string, Tensor>& got,
                         const std::map<std::string, Tensor>& wanted, double total,
                         double tolerance) {
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

/// Relative errors of an f32 step by the direct algorithms.
struct Tolerance {
  double loss = 1e-6, gradient = 1e-4, moving = 1e-5;
};

inline void expect_agreement(const StepResult& got, const StepResult& oracle,
                             const Tolerance& tolerance = {}) {
  EXPECT_NEAR(got.loss, oracle.loss, tolerance.loss * std::abs(oracle.loss));
  double squares = 0;
  for (const auto& [name, value] : oracle.gradients)
    squares += std::pow(norm(value.values<double>()), 2);
  expect_close(got.gradients, oracle.gradients, std::sqrt(squares), tolerance.gradient);
  expect_close(got.moving, oracle.moving, 1, tolerance.moving);
}

inline StepResult oracle_of(const StepCase& c) {
  SelfCommunicator communicator;
  return step(*make_reference_backend(communicator), c, "f64", 1, 0);
}

inline bool plugin_present() {
  try {
    return std::filesystem::exists(default_pjrt_plugin());
  } catch (const Error&) {
    return false;
  }
}

/// One update of everything that there is: a ragged batch in micro-batches, clipped, decayed but
/// for the exclusions, with multipliers and averages. Adam's epsilon is large, so that rounding in
/// tiny gradients stays rounding.
inline std::map<std::string, Tensor> updated(Backend& backend, const std::string& precision,
                                             int replicas, int rank) {
  const StepCase c{"resnet8", 11, 3, 12, 9, 3};
  StepOptions options = step_of(c, precision, replicas);
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
    StepCase part = c;
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

}  // namespace toroid
