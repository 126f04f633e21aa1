#include "toroid/backends/reference/reference.h"

#include <gtest/gtest.h>

#include <cmath>

#include "toroid/backends/case_runner.h"
#include "toroid/base/random.h"
#include "toroid/base/testing.h"
#include "toroid/comm/self.h"
#include "toroid/comm/threads.h"
#include "toroid/ops/batch_norm.h"
#include "toroid/ops/collectives.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/sum.h"

namespace toroid {
namespace {

const TensorType kScalar{DType::f64, Shape{}};

// An op that no backend knows.
struct Unknown {
  static constexpr std::string_view kName = "unknown_op";
  std::vector<TensorType> infer(Types) const { return {kScalar}; }
  Gradient gradient(GradientContext&) const { return std::vector<Value>{}; }
  Cost cost(Types, Types) const { return {}; }
  template <class V>
  void attributes(V&) const {}
};

class Reference : public testing::Test {
 protected:
  Outputs run(const Graph& graph, State& state, std::span<const Batch> batches = {},
              const Scalars& scalars = {}) {
    return backend_->compile(graph)->run(state, batches, scalars);
  }
  Outputs run(const Graph& graph, std::span<const Batch> batches = {},
              const Scalars& scalars = {}) {
    return run(graph, *backend_->create_state(state_schema(graph)), batches, scalars);
  }

  SelfCommunicator communicator_;
  std::unique_ptr<Backend> backend_ = make_reference_backend(communicator_);
};

TEST_F(Reference, UpdatesAreAppliedAfterAllNodesRan) {
  Builder builder;
  const Value a = builder.input(InputKind::kState, "a", kScalar);
  const Value b = builder.input(InputKind::kState, "b", kScalar);
  builder.update("a", b);
  builder.update("b", add(builder, a, b));
  builder.output("a", a);
  const Graph graph = builder.finish();
  const auto state = backend_->create_state(state_schema(graph));
  state->write("b", Tensor::scalar(1.0));
  const auto executable = backend_->compile(graph);
  for (const double fibonacci : {0, 1, 1, 2, 3, 5}) {
    EXPECT_EQ(executable->run(*state, {}, {}).at("a").item(), fibonacci);
  }
  EXPECT_EQ(state->read("b").item(), 13);
}

TEST_F(Reference, VariablesStartAtZeroAndStayWhereNothingUpdatesThem) {
  Builder builder;
  const Value x = builder.input(InputKind::kState, "x", {DType::f64, Shape{2}});
  builder.output("x", x);
  const Graph graph = builder.finish();
  const auto state = backend_->create_state(state_schema(graph));
  EXPECT_TRUE(run(graph, *state).at("x").identical(Tensor::of<double>({2}, {0, 0})));
  state->write("x", Tensor::of<double>({2}, {1, 2}));
  run(graph, *state);
  EXPECT_TRUE(state->read("x").identical(Tensor::of<double>({2}, {1, 2})));
}

TEST_F(Reference, AStateMayHoldMoreThanTheGraphReads) {
  Builder builder;
  builder.output("x", builder.input(InputKind::kState, "x", kScalar));
  const auto state = backend_->create_state({{"momentum", {DType::f32, Shape{3}}}, {"x", kScalar}});
  EXPECT_EQ(run(builder.finish(), *state).at("x").item(), 0);
}

TEST_F(Reference, StateErrorsNameTheVariable) {
  Builder builder;
  builder.output("x", builder.input(InputKind::kState, "stem/kernel", kScalar));
  const Graph graph = builder.finish();
  EXPECT_ERROR(run(graph, *backend_->create_state({})), "state: there is no variable stem/kernel");
  const auto state = backend_->create_state({{"stem/kernel", {DType::f32, Shape{2}}}});
  EXPECT_ERROR(run(graph, *state),
               "state: the variable stem/kernel is f32[2], the graph reads it as f64[]");
  EXPECT_ERROR(state->read("gamma"), "state: there is no variable gamma");
  EXPECT_ERROR(state->write("stem/kernel", Tensor::scalar(1.0f)),
               "state: the variable stem/kernel is f32[2], the value to write is f32[]");
  EXPECT_ERROR(backend_->create_state({{"a", kScalar}, {"a", kScalar}}),
               "state: two variables are named a");
}

Batch small_batch() {
  return {.images = Tensor(DType::u8, {2, 1, 1, 1}),
          .labels = Tensor::of<std::int32_t>({2}, {3, 4}),
          .ids = Tensor::of<std::uint32_t>({2}, {7, 9}),
          .weights = Tensor::of<float>({2}, {1, 0})};
}

TEST_F(Reference, BatchesAndScalarsReachTheGraphInItsTypes) {
  Builder builder;
  const auto feed = [&](InputKind kind, const std::string& name, const TensorType& type) {
    builder.output(name, builder.input(kind, name, type), kind == InputKind::kBatch);
  };
  feed(InputKind::kBatch, "images", {DType::u8, Shape{2, 1, 1, 1}});
  feed(InputKind::kBatch, "labels", {DType::i32, Shape{2}});
  feed(InputKind::kBatch, "ids", {DType::u32, Shape{2}});
  feed(InputKind::kBatch, "weights", {DType::f64, Shape{2}});
  feed(InputKind::kScalar, "learning_rate", {DType::f64, Shape{}});
  feed(InputKind::kScalar, "step", {DType::i32, Shape{}});
  feed(InputKind::kScalar, "seed", {DType::u32, Shape{}});
  const Batch batch = small_batch();
  const Outputs outputs =
      run(builder.finish(), {&batch, 1}, {.learning_rate = 0.1, .step = 12, .seed = 4294967295});
  EXPECT_TRUE(outputs.at("images").identical(batch.images));
  EXPECT_TRUE(outputs.at("labels").identical(batch.labels));
  EXPECT_TRUE(outputs.at("ids").identical(batch.ids));
  EXPECT_TRUE(outputs.at("weights").identical(Tensor::of<double>({2}, {1, 0})));
  EXPECT_TRUE(outputs.at("learning_rate").identical(Tensor::scalar(0.1)));
  EXPECT_TRUE(outputs.at("step").identical(Tensor::scalar(std::int32_t{12})));
  EXPECT_TRUE(outputs.at("seed").identical(Tensor::scalar(std::uint32_t{4294967295})));
}

Graph passing(InputKind kind, const std::string& name, const TensorType& type) {
  Builder builder;
  builder.output("y", builder.input(kind, name, type));
  return builder.finish();
}

TEST_F(Reference, InputErrorsNameTheInputAndWhatWasExpected) {
  const Batch batch = small_batch();
  const std::span<const Batch> one(&batch, 1);
  const auto batch_graph = [](const std::string& name, const TensorType& type) {
    return passing(InputKind::kBatch, name, type);
  };
  const auto scalar_graph = [](const std::string& name, DType dtype) {
    return passing(InputKind::kScalar, name, {dtype, Shape{}});
  };
  EXPECT_ERROR(run(batch_graph("labels", {DType::i32, Shape{3}}), one),
               "batch: labels must be i32[3], is i32[2]");
  EXPECT_ERROR(run(batch_graph("labels", {DType::i32, Shape{2}})),
               "batch: the graph takes labels of one batch per local replica (1 here), 0 batches");
  EXPECT_ERROR(run(batch_graph("labels", {DType::u8, Shape{2}}), one),
               "graph: batch input labels must be i32, is u8[2]");
  EXPECT_ERROR(run(batch_graph("pictures", {DType::u8, Shape{2}}), one),
               "graph: batch input pictures is unknown; known: images, labels, ids, weights");
  EXPECT_ERROR(run(scalar_graph("epoch", DType::i32)),
               "graph: scalar input epoch is unknown; known: learning_rate, step, seed");
  EXPECT_ERROR(run(scalar_graph("step", DType::f32)),
               "graph: scalar input step must be i32[], is f32[]");
  EXPECT_ERROR(run(scalar_graph("step", DType::i32), {}, {.step = std::int64_t{1} << 31}),
               "scalars: the step must fit i32 and not be negative, is 2147483648");
}

TEST_F(Reference, AllBitsOfALongSeedCount) {
  const auto seed_of = [&](std::uint64_t seed) {
    const Graph graph = passing(InputKind::kScalar, "seed", {DType::u32, Shape{}});
    return run(graph, {}, {.seed = seed}).at("y").item();
  };
  EXPECT_EQ(seed_of(7), 7);
  EXPECT_EQ(seed_of((std::uint64_t{5} << 32) + 3), 6);
}

TEST_F(Reference, CompileRefusesWhatItCannotRun) {
  Builder builder;
  const auto scope = builder.scope("stem");
  builder.output("y", builder.add(Unknown{}, {}));
  EXPECT_ERROR(backend_->compile(builder.finish()),
               "reference: stem/unknown_op: there is no kernel for unknown_op");
  Builder wide(Mesh{.data = 4});
  EXPECT_ERROR(backend_->compile(wide.finish()),
               "reference: the graph is for 4 replicas, this world has 1 ranks");
}

// The operands and results of a collective live until its done, whatever else is freed meanwhile.
TEST_F(Reference, CollectivesInFlightKeepTheirBuffers) {
  run_ranks(3, [](Communicator& communicator) {
    Builder builder(Mesh{.data = 3});
    const Value rank = convert(builder, axis_index(builder), DType::f64);
    const auto large = [&](double factor) {
      const Value value = multiply(builder, rank, factor);
      return broadcast(builder, value, Shape{1000}, {0});
    };
    const auto first =
        builder.add_all(AllReduceStart{.group_size = 3}, {large(1), multiply(builder, rank, 2)});
    const auto second = builder.add_all(AllGatherStart{.group_size = 3}, {large(5)});
    Value other = large(7);
    for (int i = 0; i < 5; ++i) other = add(builder, other, large(i));
    const auto gathered = builder.add_all(CollectiveDone{}, second);
    const auto summed = builder.add_all(CollectiveDone{}, first);
    builder.output("sum", summed[0]);
    builder.output("twice", summed[1]);
    builder.output("gathered", gathered[0]);
    builder.output("other", sum(builder, other));
    const Graph graph = builder.finish();
    const auto backend = make_reference_backend(communicator);
    const auto state = backend->create_state(state_schema(graph));
    const auto executable = backend->compile(graph);
    for (int step = 0; step < 2; ++step) {
      const Outputs outputs = executable->run(*state, {}, {});
      for (const double x : outputs.at("sum").values<double>()) EXPECT_EQ(x, 3);
      EXPECT_EQ(outputs.at("twice").item(), 6);
      const auto all = outputs.at("gathered").values<double>();
      ASSERT_EQ(all.size(), 3000);
      for (std::size_t i = 0; i < all.size(); ++i) {
        const std::size_t member = i / 1000;
        EXPECT_EQ(all[i], 5.0 * static_cast<double>(member));
      }
      EXPECT_EQ(outputs.at("other").item(), 17000 * communicator.rank());
    }
  });
}

TEST_F(Reference, ReduceScatterGivesEachMemberOfAGroupItsPart) {
  run_ranks(4, [](Communicator& communicator) {
    Builder builder(Mesh{.data = 4});
    const Value x = builder.input(InputKind::kState, "x", {DType::f64, Shape{4}});
    builder.output("y", reduce_scatter(builder, {x}, 2)[0]);
    const Graph graph = builder.finish();
    const auto backend = make_reference_backend(communicator);
    const auto state = backend->create_state(state_schema(graph));
    const double r = communicator.rank();
    state->write("x", Tensor::of<double>({4}, {r, 10 * r, 100 * r, 1000 * r}));
    const Tensor y = backend->compile(graph)->run(*state, {}, {}).at("y");
    const std::vector<std::vector<double>> wanted{{1, 10}, {100, 1000}, {5, 50}, {500, 5000}};
    EXPECT_TRUE(y.identical(
        Tensor::of<double>({2}, wanted[static_cast<std::size_t>(communicator.rank())])));
  });
}

// The variance of eight numbers near a million, in f64.
TEST_F(Reference, BatchNormMomentsDoNotDependOnTheWorldSizeAndAreStable) {
  Tensor x(DType::f64, {8, 1});
  Random random(1, "batch");
  double mean = 0, variance = 0;
  for (double& value : x.values<double>()) value = 1e6 + random.normal();
  for (const double value : x.values<double>()) mean += value / 8;
  for (const double value : x.values<double>()) variance += (value - mean) * (value - mean) / 8;
  for (const int world : {1, 2, 4, 8}) {
    run_ranks(world, [&](Communicator& communicator) {
      const std::int64_t local = 8 / world;
      Builder builder(Mesh{.data = world});
      const Value part = builder.input(InputKind::kState, "x", {DType::f64, Shape{local, 1}});
      const BatchMoments moments = batch_norm_moments(builder, part, Value{}, 1, world);
      builder.output("count", moments.count);
      builder.output("mean", moments.mean);
      builder.output("variance", moments.variance);
      const Graph graph = builder.finish();
      const auto backend = make_reference_backend(communicator);
      const auto state = backend->create_state(state_schema(graph));
      const auto values = std::as_const(x).values<double>().subspan(
          static_cast<std::size_t>(communicator.rank() * local), static_cast<std::size_t>(local));
      state->write("x", Tensor::of<double>(Shape{local, 1}, values));
      const Outputs outputs = backend->compile(graph)->run(*state, {}, {});
      EXPECT_EQ(outputs.at("count").item(), 8);
      EXPECT_NEAR(outputs.at("mean").item(), mean, 1e-9);
      EXPECT_NEAR(outputs.at("variance").item(), variance, 1e-9);
    });
  }
}

TEST(RelativeError, IsInfiniteForWhatCannotBeCompared) {
  const Tensor x = Tensor::of<double>({2}, {3, 4});
  EXPECT_EQ(relative_error(x, x), 0);
  EXPECT_DOUBLE_EQ(relative_error(Tensor::of<float>({2}, {3, 5}), x), 0.2);
  EXPECT_TRUE(std::isinf(relative_error(x.reshaped({1, 2}), x)));
  EXPECT_TRUE(std::isinf(relative_error(x.converted(DType::i32), x)));
  const Tensor nan = Tensor::of<double>({2}, {3, std::nan("")});
  EXPECT_TRUE(std::isinf(relative_error(nan, x)));
  EXPECT_TRUE(std::isinf(relative_error(x, nan)));
  EXPECT_EQ(relative_error(nan, nan), 0);
  EXPECT_EQ(
      relative_error(Tensor::of<bool>({2}, {true, true}), Tensor::of<bool>({2}, {true, false})),
      0.5);
}

}  // namespace
}  // namespace toroid
