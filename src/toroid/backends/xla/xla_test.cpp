#include "toroid/backends/xla/xla.h"

#include <algorithm>
#include <numeric>

#include "toroid/backends/host_state.h"
#include "toroid/backends/xla/xla_testing.h"
#include "toroid/graph/builder.h"
#include "toroid/ops/collectives.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/max_pool.h"
#include "toroid/ops/sum.h"

namespace toroid {
namespace {

std::vector<float> floats(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

Tensor vector_of(const std::vector<float>& values) {
  return Tensor::of<float>(Shape{static_cast<std::int64_t>(values.size())}, values);
}

// Runs a graph without state on `replicas` devices; replica r's weights are `weights[r]`.
Outputs run(const Graph& graph, const std::vector<std::vector<float>>& weights,
            const Scalars& scalars = {}) {
  const auto backend = make_xla_backend({.devices = static_cast<int>(weights.size())});
  std::vector<Batch> batches(weights.size());
  for (std::size_t r = 0; r < weights.size(); ++r) batches[r].weights = vector_of(weights[r]);
  const auto state = backend->create_state(state_schema(graph));
  return backend->compile(graph)->run(*state, batches, scalars);
}

Value weights_input(Builder& builder, std::int64_t examples) {
  return builder.input(InputKind::kBatch, "weights", {DType::f32, Shape{examples}});
}

TEST(Xla, TheOutputsPerExampleOfAllReplicasFollowOneAnother) {
  SKIP_WITHOUT_PLUGIN();
  Builder builder(Mesh{.data = 4});
  const Value x = weights_input(builder, 2);
  builder.output("per_example", multiply(builder, x, 10.0), true);
  builder.output("of_the_first", sum(builder, x));
  const Outputs outputs = run(builder.finish(), {{1, 2}, {3, 4}, {5, 6}, {7, 8}});
  EXPECT_EQ(outputs.at("per_example").shape(), (Shape{8}));
  EXPECT_EQ(floats(outputs.at("per_example")),
            (std::vector<float>{10, 20, 30, 40, 50, 60, 70, 80}));
  EXPECT_EQ(outputs.at("of_the_first").item(), 3);
}

TEST(Xla, ReplicasKnowTheirIndex) {
  SKIP_WITHOUT_PLUGIN();
  Builder builder(Mesh{.data = 4});
  builder.output("index", reshape(builder, axis_index(builder), Shape{1}), true);
  const Tensor index = run(builder.finish(), {{}, {}, {}, {}}).at("index");
  ASSERT_EQ(index.type(), (TensorType{DType::i32, Shape{4}}));
  for (int r = 0; r < 4; ++r) EXPECT_EQ(index.values<std::int32_t>()[r], r);
}

TEST(Xla, AllReduceSumsABucketOverGroupsOfConsecutiveReplicas) {
  SKIP_WITHOUT_PLUGIN();
  for (const int group_size : {1, 2, 4}) {
    Builder builder(Mesh{.data = 4});
    const Value x = weights_input(builder, 2);
    const auto total = all_reduce(builder, {x, sum(builder, x)}, group_size);
    builder.output("vector", total[0], true);
    builder.output("scalar", reshape(builder, total[1], Shape{1}), true);
    const Outputs outputs = run(builder.finish(), {{1, 2}, {10, 20}, {100, 200}, {1000, 2000}});
    std::vector<float> vector, scalar;
    for (int r = 0; r < 4; ++r) {
      float first = 0, power = 1;
      for (int member = 0; member < 4; ++member, power *= 10) {
        if (member / group_size == r / group_size) first += power;
      }
      vector.insert(vector.end(), {first, 2 * first});
      scalar.push_back(3 * first);
    }
    EXPECT_EQ(floats(outputs.at("vector")), vector);
    EXPECT_EQ(floats(outputs.at("scalar")), scalar);
  }
}

TEST(Xla, ReduceScatterGivesEachMemberItsPartAndAllGatherJoinsThem) {
  SKIP_WITHOUT_PLUGIN();
  Builder builder(Mesh{.data = 4});
  const Value x = weights_input(builder, 4);
  const auto parts = reduce_scatter(builder, {x, multiply(builder, x, -1.0)}, 2);
  builder.output("part", parts[0], true);
  builder.output("negative_part", parts[1], true);
  builder.output("whole", all_gather(builder, {parts[0]}, 2)[0], true);
  const Outputs outputs =
      run(builder.finish(), {{1, 2, 3, 4}, {10, 20, 30, 40}, {5, 6, 7, 8}, {50, 60, 70, 80}});
  EXPECT_EQ(floats(outputs.at("part")), (std::vector<float>{11, 22, 33, 44, 55, 66, 77, 88}));
  EXPECT_EQ(floats(outputs.at("negative_part")),
            (std::vector<float>{-11, -22, -33, -44, -55, -66, -77, -88}));
  EXPECT_EQ(floats(outputs.at("whole")),
            (std::vector<float>{11, 22, 33, 44, 11, 22, 33, 44, 55, 66, 77, 88, 55, 66, 77, 88}));
}

TEST(Xla, DonatedVariablesGoOnOverSteps) {
  SKIP_WITHOUT_PLUGIN();
  Builder builder(Mesh{.data = 2});
  const TensorType type{DType::f32, Shape{2}};
  const Value a = builder.input(InputKind::kState, "a", type);
  const Value b = builder.input(InputKind::kState, "b", type);
  const Value kept = builder.input(InputKind::kState, "kept", type);
  const Value gradient = all_reduce(builder, {weights_input(builder, 2)}, 2)[0];
  const Value rate = builder.input(InputKind::kScalar, "learning_rate", {DType::f32, Shape{}});
  // The two change places, and one moves.
  builder.update("a", b);
  builder.update("b", subtract(builder, a, multiply(builder, rate, gradient)));
  builder.output("sum", sum(builder, add(builder, a, kept)));
  const Graph graph = builder.finish();

  const auto backend = make_xla_backend({.devices = 2});
  const auto state = backend->create_state(state_schema(graph));
  EXPECT_EQ(floats(state->read("a")), (std::vector<float>{0, 0}));
  state->write("a", vector_of({1, 2}));
  state->write("b", vector_of({100, 200}));
  state->write("kept", vector_of({0.5, 0.5}));
  const auto step = backend->compile(graph);
  std::vector<Batch> batches(2);
  batches[0].weights = vector_of({1, 0});
  batches[1].weights = vector_of({0, 3});
  std::vector<float> x{1, 2}, y{100, 200};
  for (int i = 1; i <= 5; ++i) {
    const double rate_now = i;
    const Outputs outputs = step->run(*state, batches, {.learning_rate = rate_now, .step = i});
    EXPECT_EQ(outputs.at("sum").item(), x[0] + x[1] + 1);
    std::swap(x, y);
    y[0] -= static_cast<float>(i);
    y[1] -= static_cast<float>(3 * i);
    EXPECT_EQ(floats(state->read("a")), x);
    EXPECT_EQ(floats(state->read("b")), y);
    EXPECT_EQ(floats(state->read("kept")), (std::vector<float>{0.5, 0.5}));
  }
}

TEST(Xla, ScalarsAndPicturesArriveAsTheyAre) {
  SKIP_WITHOUT_PLUGIN();
  Builder builder;
  const Value images = builder.input(InputKind::kBatch, "images", {DType::u8, Shape{1, 2, 2, 1}});
  builder.output("images", images, true);
  builder.output("ids", builder.input(InputKind::kBatch, "ids", {DType::u32, Shape{1}}), true);
  builder.output("step", builder.input(InputKind::kScalar, "step", {DType::i32, Shape{}}));
  builder.output("seed", builder.input(InputKind::kScalar, "seed", {DType::u32, Shape{}}));
  // A graph in f64 takes the batch's f32.
  builder.output("weights", builder.input(InputKind::kBatch, "weights", {DType::f64, Shape{1}}),
                 true);
  const Graph graph = builder.finish();
  const auto backend = make_xla_backend({.devices = 1});
  const auto state = backend->create_state({});
  std::vector<Batch> batches(1);
  batches[0] = {.images = Tensor::of<std::uint8_t>({1, 2, 2, 1}, {0, 1, 254, 255}),
                .ids = Tensor::of<std::uint32_t>({1}, {4294967295u}),
                .weights = vector_of({0.5})};
  const Outputs outputs =
      backend->compile(graph)->run(*state, batches, {.step = 7, .seed = 4000000000u});
  EXPECT_TRUE(outputs.at("images").identical(batches[0].images));
  EXPECT_TRUE(outputs.at("ids").identical(batches[0].ids));
  EXPECT_EQ(outputs.at("step").item(), 7);
  EXPECT_EQ(outputs.at("seed").item(), 4000000000.0);
  EXPECT_TRUE(outputs.at("weights").identical(Tensor::of<double>({1}, {0.5})));
}

TEST(Xla, EqualElementsGiveMaxPoolsGradientToTheFirst) {
  SKIP_WITHOUT_PLUGIN();
  Builder builder;
  const Value x = builder.input(InputKind::kState, "x", {DType::f32, Shape{1, 2, 3, 1}});
  const Value dy = constant(builder, 1, {DType::f32, Shape{1, 2, 2, 1}});
  builder.output(
      "dx",
      builder.add(MaxPoolGradient{.window = {2, 2}, .stride = {1, 1}, .padding = {1, 0, 0, 0}},
                  {x, dy}));
  const Graph graph = builder.finish();
  const auto backend = make_xla_backend({.devices = 1});
  const auto state = backend->create_state(state_schema(graph));
  // All negative: a zero of the padding must not win.
  state->write("x", Tensor::of<float>({1, 2, 3, 1}, {-1, -1, -1, -1, -1, -1}));
  const Tensor dx = backend->compile(graph)->run(*state, {}, {}).at("dx");
  EXPECT_EQ(floats(dx), (std::vector<float>{2, 2, 0, 0, 0, 0}));
}

TEST(Xla, WhatDoesNotFitTheGraphIsNamed) {
  SKIP_WITHOUT_PLUGIN();
  Builder builder(Mesh{.data = 2});
  const Value v = builder.input(InputKind::kState, "layer/kernel", {DType::f32, Shape{2}});
  builder.output("sum", sum(builder, multiply(builder, v, weights_input(builder, 2))));
  const Graph graph = builder.finish();
  const auto backend = make_xla_backend({.devices = 2});
  EXPECT_EQ(backend->name(), "xla");
  EXPECT_EQ(backend->local_replicas(), 2);
  const auto step = backend->compile(graph);
  const auto state = backend->create_state(state_schema(graph));
  std::vector<Batch> batches(2);
  batches[0].weights = batches[1].weights = vector_of({1, 2});
  EXPECT_EQ(step->run(*state, batches, {}).at("sum").item(), 0);

  EXPECT_ERROR(step->run(*state, {}, {}),
               "the graph takes weights of one batch per local replica (2 here), 0 batches");
  batches[1].weights = vector_of({1, 2, 3});
  EXPECT_ERROR(step->run(*state, batches, {}), "batch: weights must be f32[2], is f32[3]");
  const auto empty = backend->create_state({});
  EXPECT_ERROR(step->run(*empty, batches, {}), "state: there is no variable layer/kernel");
  const auto other = backend->create_state({{"layer/kernel", {DType::f64, Shape{2}}}});
  EXPECT_ERROR(step->run(*other, batches, {}),
               "the variable layer/kernel is f64[2], the graph reads it as f32[2]");
  HostState host(state_schema(graph));
  EXPECT_ERROR(step->run(host, batches, {}), "made by another backend");
  EXPECT_ERROR(state->read("bias"), "state: there is no variable bias");
  EXPECT_ERROR(state->write("layer/kernel", vector_of({1})),
               "the variable layer/kernel is f32[2], the value to write is f32[1]");
  EXPECT_ERROR(backend->create_state({{"a", {}}, {"a", {}}}), "two variables are named a");
}

TEST(Xla, AGraphForAnotherNumberOfReplicasIsRefused) {
  SKIP_WITHOUT_PLUGIN();
  const auto backend = make_xla_backend({.devices = 2});
  Builder builder(Mesh{.data = 3});
  EXPECT_ERROR(backend->compile(builder.finish()),
               "graph: it is for 3 replicas, the xla backend has 2");
}

TEST(Xla, APluginThatIsNotThereIsNamed) {
  EXPECT_ERROR(make_xla_backend({.plugin = "/no/such/plugin.so"}), "/no/such/plugin.so");
  EXPECT_ERROR(make_xla_backend({.devices = -1}), "the number of devices is -1");
}

TEST(Xla, TheDefaultPluginIsTheInstalledOneOrItsAbsenceSaysWhatToRun) {
  if (std::filesystem::exists(std::filesystem::path(TOROID_PJRT_DIR) / "xla_cpu_pjrt.so")) {
    EXPECT_EQ(default_pjrt_plugin().filename(), "xla_cpu_pjrt.so");
  } else {
    EXPECT_ERROR(default_pjrt_plugin(), "run tools/fetch_pjrt.sh, or pass --plugin");
  }
}

}  // namespace
}  // namespace toroid
