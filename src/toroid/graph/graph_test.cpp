#include "toroid/graph/graph.h"

#include <gtest/gtest.h>

#include "toroid/graph/testing.h"

namespace toroid {
namespace {

const TensorType kVector{DType::f32, Shape{2}};

TEST(GraphPrint, IsOneNodeALine) {
  Builder builder(Mesh{.data = 8});
  const Value x = builder.input(InputKind::kState, "stem/kernel", kVector);
  const Value labels = builder.input(InputKind::kBatch, "labels", {DType::i32, Shape{}});
  builder.input(InputKind::kScalar, "step", {DType::i32, Shape{}});
  const auto scope = builder.scope("stem");
  const auto pair = builder.add_all(ToyOp{.results = 2}, {x});
  const Value y = builder.add(ToyOp{}, {pair[0], pair[1]});
  builder.update("stem/kernel", pair[1]);
  builder.output("loss", y);
  builder.output("labels", labels, true);
  EXPECT_EQ(print(builder.finish()),
            "graph data=8\n"
            "  stem/kernel: f32[2] = input() kind=state name=stem/kernel\n"
            "  labels: i32[] = input() kind=batch name=labels\n"
            "  step: i32[] = input() kind=scalar name=step\n"
            "  stem/toy: f32[2], f32[2] = toy(stem/kernel) results=2\n"
            "  stem/toy_2: f32[2] = toy(stem/toy, stem/toy:1)\n"
            "update stem/kernel <- stem/toy:1\n"
            "output loss = stem/toy_2\n"
            "output labels = labels per example\n");
}

TEST(GraphPrint, NamesNoValue) {
  EXPECT_EQ(Graph().name(Value{}), "(none)");
}

TEST(GraphCost, IsTheSumOfTheNodes) {
  Builder builder;
  const Value x = builder.input(InputKind::kState, "x", kVector);
  builder.output("y", builder.add(ToyOp{}, builder.add_all(ToyOp{.results = 2}, {x})));
  const Cost cost = total_cost(builder.finish());
  EXPECT_EQ(cost.flops, 6);
  EXPECT_EQ(cost.bytes, (3 + 3) * 8);  // six vectors of 8 bytes read or written; inputs are free
}

TEST(OpAttributes, AreReachedByTypeAlone) {
  const Op op = ToyOp{.results = 5};
  ASSERT_NE(op.as<ToyOp>(), nullptr);
  EXPECT_EQ(op.as<ToyOp>()->results, 5);
  EXPECT_EQ(op.as<Input>(), nullptr);
}

TEST(AttributePrinter, WritesEveryKindOfValue) {
  AttributePrinter printer;
  printer("flag", true);
  printer("dtype", DType::bf16);
  printer("shape", Shape{2, 3});
  printer("name", std::string_view("x"));
  printer("epsilon", 1e-5);
  printer("axes", std::vector<std::int64_t>{1, 2});
  printer("stride", std::array<std::int64_t, 2>{3, 4});
  EXPECT_EQ(std::move(printer).text(),
            "flag=true dtype=bf16 shape=[2,3] name=x epsilon=1e-05 axes=[1,2] stride=[3,4]");
}

}  // namespace
}  // namespace toroid
