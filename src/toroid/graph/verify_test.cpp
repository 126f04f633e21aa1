// Each invariant of a graph, broken once.
#include <gtest/gtest.h>

#include "toroid/base/testing.h"
#include "toroid/graph/testing.h"

namespace toroid {
namespace {

const TensorType kVector{DType::f32, Shape{2}};

// x -> a -> b, an update of x and an output.
Graph sound() {
  Builder builder(Mesh{.data = 4});
  const Value x = builder.input(InputKind::kState, "x", kVector);
  const auto scope = builder.scope("stem");
  const Value a = builder.add(ToyOp{}, {x});
  const Value b = builder.add(ToyOp{}, {a});
  builder.update("x", b);
  builder.output("y", a);
  return builder.finish();
}

TEST(Verify, AcceptsASoundGraph) {
  EXPECT_NO_THROW(verify(sound()));
  EXPECT_NO_THROW(verify(Graph()));
}

TEST(Verify, OperandsComeBeforeTheirUsers) {
  Graph graph = sound();
  graph.nodes[1].inputs[0] = {2, 0};
  EXPECT_ERROR(verify(graph), "graph: stem/toy uses a value that is not computed before it");
  graph.nodes[1].inputs[0] = {1, 0};
  EXPECT_ERROR(verify(graph), "graph: stem/toy uses a value that is not computed before it");
  graph.nodes[1].inputs[0] = {};
  EXPECT_ERROR(verify(graph), "graph: stem/toy uses a value that is not computed before it");
}

TEST(Verify, OperandsExist) {
  Graph graph = sound();
  graph.nodes[2].inputs[0].index = 1;
  EXPECT_ERROR(verify(graph), "graph: stem/toy_2 uses output 1 of stem/toy, which has 1");
}

TEST(Verify, TypesAreThoseThatOpsInfer) {
  Graph graph = sound();
  graph.nodes[2].types[0].dtype = DType::f64;
  EXPECT_ERROR(verify(graph), "graph: stem/toy_2: the stored types are not those that toy infers");
}

TEST(Verify, PathsAreUnique) {
  Graph graph = sound();
  graph.nodes[2].path = "stem/toy";
  EXPECT_ERROR(verify(graph), "graph: two nodes have the path stem/toy");
}

TEST(Verify, EachVariableHasOneInput) {
  Graph graph = sound();
  graph.nodes.push_back({Input{InputKind::kState, "x", kVector}, "another", {}, {kVector}});
  EXPECT_ERROR(verify(graph), "graph: the variable x has two inputs");
}

TEST(Verify, UpdatesFitTheirVariables) {
  Graph graph = sound();
  graph.updates[0].name = "z";
  EXPECT_ERROR(verify(graph), "graph: update of unknown variable z");
  graph = sound();
  graph.updates.push_back(graph.updates[0]);
  EXPECT_ERROR(verify(graph), "graph: x is updated twice");
  graph = sound();
  const TensorType scalar{DType::f32, Shape{}};
  graph.nodes.push_back({Input{InputKind::kScalar, "learning_rate", scalar}, "rate", {}, {scalar}});
  graph.updates[0].value = {3, 0};
  EXPECT_ERROR(verify(graph), "graph: the variable x is f32[2], its update rate is f32[]");
}

TEST(Verify, UpdatesAndOutputsReadComputedValues) {
  Graph graph = sound();
  graph.updates[0].value = {};
  EXPECT_ERROR(verify(graph), "graph: update x uses a value that is not computed before it");
  graph = sound();
  graph.outputs[0].value = {7, 0};
  EXPECT_ERROR(verify(graph), "graph: output y uses a value that is not computed before it");
  graph = sound();
  graph.outputs[0].value.index = 3;
  EXPECT_ERROR(verify(graph), "graph: output y uses output 3 of stem/toy, which has 1");
}

TEST(Verify, OutputsHaveDifferentNames) {
  Graph graph = sound();
  graph.outputs.push_back(graph.outputs[0]);
  EXPECT_ERROR(verify(graph), "graph: two outputs are named y");
}

// x -> start (two in flight); what follows is up to the test.
struct InFlight {
  explicit InFlight(int group_size = 2) : builder(Mesh{.data = 4}) {
    x = builder.input(InputKind::kState, "x", kVector);
    flight = builder.add_all(toy_start(2, group_size), {x, x});
  }
  Builder builder;
  Value x;
  std::vector<Value> flight;
};

TEST(VerifyCollectives, AStartMetByOneDoneIsSound) {
  InFlight g;
  g.builder.add_all(toy_done(2), g.flight);
  EXPECT_NO_THROW(g.builder.finish());
}

TEST(VerifyCollectives, AStartNeedsADone) {
  InFlight g;
  EXPECT_ERROR(g.builder.finish(), "graph: toy has no done");
}

TEST(VerifyCollectives, ADoneTakesAllOutputsInOrder) {
  InFlight part;
  part.builder.add_all(toy_done(1), {part.flight[0]});
  EXPECT_ERROR(part.builder.finish(), "graph: toy_2 must take all outputs of toy in order");
  InFlight swapped;
  swapped.builder.add_all(toy_done(2), {swapped.flight[1], swapped.flight[0]});
  EXPECT_ERROR(swapped.builder.finish(), "graph: toy_2 must take all outputs of toy in order");
}

TEST(VerifyCollectives, NothingElseTouchesAValueInFlight) {
  InFlight before;
  before.builder.add(ToyOp{}, {before.flight[1]});
  before.builder.add_all(toy_done(2), before.flight);
  EXPECT_ERROR(before.builder.finish(), "graph: toy_2 uses a value in flight: toy:1");
  InFlight twice;
  twice.builder.add_all(toy_done(2), twice.flight);
  twice.builder.add_all(toy_done(2), twice.flight);
  EXPECT_ERROR(twice.builder.finish(), "graph: toy_3 uses a value in flight: toy");
}

TEST(VerifyCollectives, GroupsDivideTheDataAxis) {
  InFlight g(3);
  g.builder.add_all(toy_done(2), g.flight);
  EXPECT_ERROR(g.builder.finish(), "graph: toy: groups of 3 do not divide 4 replicas");
}

}  // namespace
}  // namespace toroid
