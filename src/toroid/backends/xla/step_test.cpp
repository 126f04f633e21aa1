// One training step of a small residual network: XLA in f32 against the reference backend in f64.
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "toroid/backends/case_runner.h"
#include "toroid/backends/reference/reference.h"
#include "toroid/backends/xla/xla.h"
#include "toroid/backends/xla/xla_testing.h"
#include "toroid/base/random.h"
#include "toroid/comm/threads.h"
#include "toroid/models/model.h"
#include "toroid/ops/collectives.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/normalize_images.h"
#include "toroid/ops/softmax_cross_entropy.h"
#include "toroid/ops/sum.h"
#include "toroid/passes/autodiff.h"
#include "toroid/passes/dead_code.h"
#include "toroid/passes/fusion.h"
#include "toroid/passes/gradient_reduction.h"

namespace toroid {
namespace {

constexpr std::int64_t kSlots = 4, kSize = 10, kChannels = 3, kClasses = 5;

struct Step {
  Graph graph;
  std::vector<Variable> variables;
};

// The loss and the gradient of every trained variable as outputs; batch norm over all replicas.
Step build_step(DType dtype, int replicas, bool masked) {
  Builder builder(Mesh{.data = replicas});
  Net::Options options{.training = true, .dtype = dtype};
  options.partition = {kSlots * replicas, replicas, kSlots * replicas};
  if (masked) {
    options.weights = builder.input(InputKind::kBatch, "weights", {dtype, Shape{kSlots}});
  }
  Net net(builder, options);
  const Value images = builder.input(InputKind::kBatch, "images",
                                     {DType::u8, Shape{kSlots, kSize, kSize, kChannels}});
  const Value labels = builder.input(InputKind::kBatch, "labels", {DType::i32, Shape{kSlots}});
  const Value x = normalize_images(
      builder, images, {.mean = {120, 115, 100}, .scale = {0.017, 0.0175, 0.0178}, .dtype = dtype});
  const Value logits = find_model("resnet8").build(net, x, kClasses);
  Value losses = softmax_cross_entropy(builder, logits, labels, 0.1);
  if (masked) losses = multiply(builder, losses, options.weights);
  const Value loss = sum(builder, losses);

  std::vector<Value> trained;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < net.variables().size(); ++i) {
    if (!net.variables()[i].trainable) continue;
    trained.push_back(net.values()[i]);
    names.push_back(net.variables()[i].name);
  }
  const auto local = gradients(builder, loss, trained);
  const auto total = reduce_gradients(builder, local, 1 << 14);
  builder.output("loss", all_reduce(builder, {loss}, replicas)[0]);
  for (std::size_t i = 0; i < total.size(); ++i) builder.output(names[i], total[i]);
  builder.output("logits", logits, true);
  Graph graph = fuse_batch_norm(remove_dead_code(builder.finish()));
  return {start_collectives_early(graph), net.variables()};
}

Batch make_batch(int replica) {
  const auto position = static_cast<std::uint32_t>(10 * replica);
  Batch batch;
  batch.images = make_operand({{DType::u8, Shape{kSlots, kSize, kSize, kChannels}}, Fill::kPixels},
                              1, position);
  batch.labels =
      make_operand({{DType::i32, Shape{kSlots}}, Fill::kLabels, kClasses}, 1, position + 1);
  batch.weights = Tensor::of<float>({kSlots}, {1, 1, 1, replica == 0 ? 1.0f : 0.0f});
  return batch;
}

Outputs run_step(Backend& backend, const Step& step, std::span<const Batch> batches) {
  const auto state = backend.create_state(state_schema(step.graph));
  for (const auto& [name, type] : state->schema()) {
    for (const Variable& variable : step.variables) {
      if (variable.name != name) continue;
      // From f32 in both precisions.
      Variable narrow = variable;
      narrow.type.dtype = DType::f32;
      state->write(name, initial_value(narrow, 3).converted(type.dtype));
    }
  }
  return backend.compile(step.graph)->run(*state, batches, {});
}

// Rank 0's outputs of the reference backend, one rank per replica.
Outputs run_reference(int replicas, bool masked) {
  Outputs outputs;
  run_ranks(replicas, [&](Communicator& communicator) {
    const auto reference = make_reference_backend(communicator);
    const std::vector<Batch> batches{make_batch(communicator.rank())};
    Outputs own = run_step(*reference, build_step(DType::f64, replicas, masked), batches);
    if (communicator.rank() == 0) outputs = std::move(own);
  });
  return outputs;
}

void compare_step(int replicas, bool masked) {
  const auto xla = make_xla_backend({.devices = replicas});
  std::vector<Batch> batches;
  for (int r = 0; r < replicas; ++r) batches.push_back(make_batch(r));
  const Outputs got = run_step(*xla, build_step(DType::f32, replicas, masked), batches);
  const Outputs wanted = run_reference(replicas, masked);
  ASSERT_EQ(got.size(), wanted.size());
  EXPECT_GT(wanted.at("loss").item(), 1);
  for (const auto& [name, tensor] : wanted) {
    if (name == "logits") continue;
    const double limit = name == "loss" ? 1e-6 : 1e-4;
    EXPECT_LT(relative_error(got.at(name), tensor), limit) << name;
  }
  EXPECT_EQ(got.at("logits").shape(), (Shape{kSlots * replicas, kClasses}));
}

TEST(Step, LossAndGradientsAreThoseOfTheOracle) {
  SKIP_WITHOUT_PLUGIN();
  compare_step(1, false);
}

TEST(Step, OverTwoReplicasWithPaddingLossAndGradientsAreThoseOfTheOracle) {
  SKIP_WITHOUT_PLUGIN();
  compare_step(2, true);
}

}  // namespace
}  // namespace toroid
