// Dropout from the layer to the backends: which elements are dropped.
#include <gtest/gtest.h>

#include <array>

#include "toroid/backends/cpu/cpu.h"
#include "toroid/backends/reference/reference.h"
#include "toroid/base/random.h"
#include "toroid/comm/self.h"
#include "toroid/comm/threads.h"
#include "toroid/models/net.h"
#include "toroid/ops/constant.h"

namespace toroid {
namespace {

constexpr std::int64_t kElements = 1029;  // of an example

// The layer head/dropout over ones [examples,kElements], on a replica of a world of `replicas`.
Graph layer(std::int64_t examples, int replicas, bool training = true) {
  Builder builder(Mesh{.data = replicas});
  Net net(builder, {.training = training});
  const Value ones = constant(builder, 1, {DType::f32, Shape{examples, kElements}});
  const auto scope = net.scope("head");
  builder.output("y", net.dropout("dropout", ones, 0.5), true);
  return builder.finish();
}

Tensor run(Backend& backend, const Graph& graph, const std::vector<std::uint32_t>& ids,
           const Scalars& scalars = {.step = 11, .seed = 5}) {
  Batch batch;
  batch.ids = Tensor(DType::u32, Shape{static_cast<std::int64_t>(ids.size())});
  std::copy(ids.begin(), ids.end(), batch.ids.values<std::uint32_t>().begin());
  const auto state = backend.create_state({});
  return backend.compile(graph)->run(*state, {&batch, 1}, scalars).at("y");
}

std::vector<float> row(const Tensor& y, std::int64_t example) {
  const auto values = y.values<float>().subspan(static_cast<std::size_t>(example * kElements),
                                                static_cast<std::size_t>(kElements));
  return {values.begin(), values.end()};
}

class DropoutLayer : public testing::Test {
 protected:
  SelfCommunicator self_;
  std::unique_ptr<Backend> reference_ = make_reference_backend(self_);
};

TEST_F(DropoutLayer, AnExampleHasItsMaskInAnyWorldOnAnyRankAndSlot) {
  const Tensor alone = run(*reference_, layer(4, 1), {30, 1, 4000000000U, 2});
  const std::vector<std::vector<std::uint32_t>> dealt{{4000000000U, 30}, {2, 1}};
  std::array<Tensor, 2> y;
  run_ranks(2, [&](Communicator& communicator) {
    const auto rank = static_cast<std::size_t>(communicator.rank());
    y.at(rank) = run(*make_reference_backend(communicator), layer(2, 2), dealt[rank]);
  });
  EXPECT_EQ(row(alone, 0), row(y[0], 1));
  EXPECT_EQ(row(alone, 1), row(y[1], 1));
  EXPECT_EQ(row(alone, 2), row(y[0], 0));
  EXPECT_EQ(row(alone, 3), row(y[1], 0));
}

TEST_F(DropoutLayer, ItsDrawsAreAStreamOfItsPath) {
  const auto y = row(run(*reference_, layer(1, 1), {9}), 0);
  Random stream(5, "head/dropout", 11, 9);
  for (std::size_t e = 0; e < y.size(); ++e) {
    EXPECT_EQ(y[e], stream.next() < 0x80000000U ? 0 : 2) << e;
  }
}

TEST_F(DropoutLayer, SeedAndStepChangeTheMask) {
  const Graph graph = layer(1, 1);
  const Tensor y = run(*reference_, graph, {9});
  EXPECT_FALSE(y.identical(run(*reference_, graph, {9}, {.step = 12, .seed = 5})));
  EXPECT_FALSE(y.identical(run(*reference_, graph, {9}, {.step = 11, .seed = 6})));
}

TEST_F(DropoutLayer, TheCpuBackendDropsTheSameElements) {
  const Graph graph = layer(3, 1);
  for (const int threads : {1, 2}) {
    const auto cpu = make_cpu_backend(self_, {.threads = threads});
    EXPECT_TRUE(run(*cpu, graph, {7, 0, 4294967295U})
                    .identical(run(*reference_, graph, {7, 0, 4294967295U})));
  }
}

TEST_F(DropoutLayer, OutsideTrainingItIsNotThere) {
  const Graph graph = layer(2, 1, false);
  EXPECT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(row(run(*reference_, graph, {}), 1), std::vector<float>(kElements, 1));
}

}  // namespace
}  // namespace toroid
