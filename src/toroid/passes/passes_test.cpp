#include <gtest/gtest.h>

#include "toroid/base/testing.h"
#include "toroid/ops/batch_norm.h"
#include "toroid/ops/collectives.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/matmul.h"
#include "toroid/ops/relu.h"
#include "toroid/ops/softmax_cross_entropy.h"
#include "toroid/ops/sum.h"
#include "toroid/passes/autodiff.h"
#include "toroid/passes/dead_code.h"
#include "toroid/passes/fusion.h"
#include "toroid/passes/gradient_reduction.h"

namespace toroid {
namespace {

Value variable(Builder& builder, const std::string& name, Shape shape) {
  return builder.input(InputKind::kState, name, {DType::f32, std::move(shape)});
}

std::vector<std::string> op_sequence(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    if (node.op.as<Input>() == nullptr) names.emplace_back(node.op.name());
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(Autodiff, GivesNoValueWhereTheLossDoesNotDepend) {
  Builder builder;
  const Value x = variable(builder, "x", {3}), other = variable(builder, "other", {3});
  const Value loss = sum(builder, multiply(builder, x, x));
  const auto result = gradients(builder, loss, std::vector<Value>{x, other});
  EXPECT_TRUE(result[0]);
  EXPECT_FALSE(result[1]);
  EXPECT_EQ(builder.type(result[0]), (TensorType{DType::f32, Shape{3}}));
}

TEST(Autodiff, DoesNotVisitWhatNoParameterReaches) {
  Builder builder;
  const Value x = variable(builder, "x", {3}), data = variable(builder, "data", {3});
  const Value features = exp(builder, exp(builder, data));  // no gradient needed inside
  const Value loss = sum(builder, multiply(builder, x, features));
  gradients(builder, loss, std::vector<Value>{x});
  for (const Node& node : builder.graph().nodes) {
    EXPECT_EQ(node.path.find("gradient/exp"), std::string::npos) << node.path;
  }
}

TEST(Autodiff, NamesTheOpThatHasNoGradient) {
  Builder builder;
  const Value logits = variable(builder, "logits", {2, 3});
  const Value labels = builder.input(InputKind::kBatch, "labels", {DType::i32, Shape{2}});
  const Value count = sum(builder, in_top_k(builder, logits, labels, 1));
  EXPECT_ERROR(gradients(builder, count, std::vector<Value>{logits}),
               "in_top_k: in_top_k has no gradient: counting is piecewise constant");
  EXPECT_ERROR(gradients(builder, logits, std::vector<Value>{logits}),
               "the loss logits must be a float scalar, is f32[2,3]");
}

TEST(DeadCode, RemovesWhatNothingReadsAndKeepsInputs) {
  Builder builder;
  const Value x = variable(builder, "x", {3});
  variable(builder, "unused", {3});
  exp(builder, exp(builder, x));
  builder.output("y", negate(builder, x));
  const Graph graph = remove_dead_code(builder.finish());
  EXPECT_EQ(op_sequence(graph), (Names{"unary"}));
  EXPECT_EQ(graph.nodes.size(), 3U);
}

TEST(DeadCode, ACollectiveWithOneLiveResultStaysWhole) {
  Builder builder(Mesh{.data = 2});
  const Value x = variable(builder, "x", {3}), y = variable(builder, "y", {2});
  builder.output("sum", all_reduce(builder, {x, y}, 2)[0]);
  EXPECT_EQ(op_sequence(remove_dead_code(builder.finish())),
            (Names{"all_reduce_start", "collective_done"}));
}

// x and statistics of one group, C = 4.
struct Norm {
  Builder builder;
  Value x = variable(builder, "x", {2, 4}), mean = variable(builder, "mean", {1, 4}),
        variance = variable(builder, "variance", {1, 4}), gamma = variable(builder, "gamma", {4}),
        beta = variable(builder, "beta", {4}), residual = variable(builder, "residual", {2, 4});
  Value apply() { return builder.add(BatchNormApply{}, {x, mean, variance, gamma, beta}); }
  Names fused() { return op_sequence(fuse_batch_norm(builder.finish())); }
};

TEST(Fusion, JoinsNormAdditionAndRelu) {
  Norm both, relu_only, addition_only;
  both.builder.output("y", relu(both.builder, add(both.builder, both.residual, both.apply())));
  relu_only.builder.output("y", relu(relu_only.builder, relu_only.apply()));
  addition_only.builder.output(
      "y", add(addition_only.builder, addition_only.apply(), addition_only.residual));
  for (Norm* norm : {&both, &relu_only, &addition_only}) {
    EXPECT_EQ(norm->fused(), (Names{"batch_norm_apply"}));
  }
}

TEST(Fusion, LeavesAValueThatSomebodyElseReads) {
  Norm norm;
  const Value y = norm.apply();
  norm.builder.output("y", relu(norm.builder, y));
  norm.builder.output("before", y);
  EXPECT_EQ(norm.fused(), (Names{"batch_norm_apply", "relu"}));
}

TEST(Fusion, OfTwoNormsThatMeetTheSecondIsTheResidual) {
  Norm norm;
  const Value main = norm.apply(), shortcut = norm.apply();
  norm.builder.output("y", relu(norm.builder, add(norm.builder, main, shortcut)));
  EXPECT_EQ(norm.fused(), (Names{"batch_norm_apply", "batch_norm_apply"}));
}

TEST(GradientReduction, FillsBucketsInTheOrderOfTheBackwardPass) {
  Builder builder(Mesh{.data = 4});
  const Value x = variable(builder, "x", {8});
  const Value first = exp(builder, x), second = negate(builder, x), third = sqrt(builder, x);
  // 32 bytes each: two fit a bucket of 64.
  const auto sums = reduce_gradients(builder, {third, first, second}, 64);
  EXPECT_EQ(sums[1].node, sums[2].node);  // first and second travel together
  EXPECT_NE(sums[0].node, sums[1].node);
  const Node& start = builder.graph().nodes[static_cast<std::size_t>(sums[1].node) - 1];
  EXPECT_EQ(start.inputs, (std::vector<Value>{first, second}));
}

TEST(GradientReduction, AloneIsANoOp) {
  Builder builder;
  const std::vector<Value> gradients{variable(builder, "x", {8})};
  EXPECT_EQ(reduce_gradients(builder, gradients, 64), gradients);
}

TEST(StartCollectivesEarly, AStartFollowsItsLastOperandAndItsDoneStays) {
  Builder builder(Mesh{.data = 2});
  const Value x = variable(builder, "x", {8});
  const Value early = exp(builder, x), late = negate(builder, x);
  const auto a = all_reduce(builder, {early}, 2), b = all_reduce(builder, {late}, 2);
  builder.output("sum", add(builder, a[0], b[0]));
  EXPECT_EQ(op_sequence(start_collectives_early(builder.finish())),
            (Names{"unary", "all_reduce_start", "unary", "all_reduce_start", "collective_done",
                   "collective_done", "binary"}));
}

}  // namespace
}  // namespace toroid
