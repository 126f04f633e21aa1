#include "toroid/backends/cpu/storage.h"

#include <gtest/gtest.h>

#include "toroid/ops/collectives.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/sum.h"

namespace toroid::cpu {
namespace {

const TensorType kVector{DType::f32, Shape{32}};

// What the kernels of these ops allow.
StorageAssignment assign(const Graph& graph) {
  return assign_storage(graph, [&](int node, std::size_t input, std::size_t output) {
    const std::string_view op = graph.nodes[static_cast<std::size_t>(node)].op.name();
    if (op == CollectiveDone::kName) return input == output ? Reuse::kSame : Reuse::kNone;
    if (op == AllReduceStart::kName) return input == output ? Reuse::kOverwrite : Reuse::kNone;
    if (op == Reshape::kName) return Reuse::kSame;
    if (op == Unary::kName || op == Binary::kName) return Reuse::kOverwrite;
    return Reuse::kNone;
  });
}

class StorageTest : public testing::Test {
 protected:
  Value variable() { return b.input(InputKind::kState, "x", kVector); }
  Builder b;
};

TEST_F(StorageTest, AChainOfElementwiseOpsRunsInOneBuffer) {
  const Value first = exp(b, variable()), last = negate(b, exp(b, first));
  b.output("y", last);
  const Graph graph = b.finish();
  const StorageAssignment storage = assign(graph);
  EXPECT_EQ(storage.of(first), storage.of(last));
  EXPECT_EQ(storage.storages[static_cast<std::size_t>(storage.of(last))].lifetime.last, 4);
}

TEST_F(StorageTest, WhatComesFromOutsideIsNeverOverwritten) {
  const Value x = variable();
  const Value y = exp(b, reshape(b, x, Shape{4, 8}));
  b.output("y", y);
  const Graph graph = b.finish();
  const StorageAssignment storage = assign(graph);
  EXPECT_NE(storage.of(x), storage.of(y));
  EXPECT_TRUE(storage.storages[static_cast<std::size_t>(storage.of(x))].external());
}

TEST_F(StorageTest, AValueThatIsReadLaterKeepsItsBuffer) {
  const Value kept = exp(b, variable());
  const Value view = reshape(b, kept, Shape{8, 4});
  const Value other = negate(b, kept);  // the view is still to be read
  const Value last = exp(b, view);
  b.output("other", other);
  b.output("last", last);
  const Graph graph = b.finish();
  const StorageAssignment storage = assign(graph);
  EXPECT_EQ(storage.of(kept), storage.of(view));
  EXPECT_NE(storage.of(kept), storage.of(other));
  EXPECT_EQ(storage.of(kept), storage.of(last));
}

TEST_F(StorageTest, AnOutputOfTheGraphKeepsItsBuffer) {
  const Value kept = exp(b, variable());
  b.output("kept", kept);
  b.output("y", negate(b, kept));
  const Graph graph = b.finish();
  const StorageAssignment storage = assign(graph);
  EXPECT_NE(storage.of(kept), storage.of(graph.outputs[1].value));
  EXPECT_EQ(storage.storages[static_cast<std::size_t>(storage.of(kept))].lifetime.last, 3);
}

TEST_F(StorageTest, WhatACollectiveReadsOrWritesStaysUntilItIsDone) {
  const Value sent = exp(b, variable());
  const Value seen = negate(b, sent);  // read before the start
  const auto flying = b.add_all(AllReduceStart{.group_size = 1}, {sent, seen});
  const Value between = exp(b, variable());
  const auto arrived = b.add_all(CollectiveDone{}, flying);
  b.output("a", arrived[0]);
  b.output("b", arrived[1]);
  b.output("between", between);
  const Graph graph = b.finish();
  const StorageAssignment storage = assign(graph);
  EXPECT_EQ(storage.of(sent), storage.of(arrived[0]));  // in place: nobody else reads it
  EXPECT_NE(storage.of(between), storage.of(sent));
  EXPECT_NE(storage.of(between), storage.of(seen));
}

TEST_F(StorageTest, OneOperandOfTwoCollectivesIsNotReducedInPlace) {
  const Value sent = exp(b, variable());
  const auto first = b.add_all(AllReduceStart{.group_size = 1}, {sent});
  const auto second = b.add_all(AllReduceStart{.group_size = 1}, {sent});
  b.output("a", b.add(CollectiveDone{}, first));
  b.output("b", b.add(CollectiveDone{}, second));
  const Graph graph = b.finish();
  const StorageAssignment storage = assign(graph);
  EXPECT_NE(storage.of(first[0]), storage.of(sent));
  EXPECT_NE(storage.of(second[0]), storage.of(sent));
  const BufferLifetime life = storage.storages[static_cast<std::size_t>(storage.of(sent))].lifetime;
  EXPECT_EQ(life.last, 5);
}

TEST_F(StorageTest, AnOperandGivenTwiceToACollectiveIsNotReducedInPlace) {
  const Value sent = exp(b, variable());
  const auto flying = b.add_all(AllReduceStart{.group_size = 1}, {sent, sent});
  const auto arrived = b.add_all(CollectiveDone{}, flying);
  b.output("a", arrived[0]);
  b.output("b", arrived[1]);
  const Graph graph = b.finish();
  const StorageAssignment storage = assign(graph);
  EXPECT_NE(storage.of(arrived[0]), storage.of(sent));
  EXPECT_NE(storage.of(arrived[0]), storage.of(arrived[1]));
}

}  // namespace
}  // namespace toroid::cpu
