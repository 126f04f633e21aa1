#include "toroid/train/op_times.h"

#include <gtest/gtest.h>

namespace toroid {
namespace {

// Two convolutions and a ReLU, four runs of each.
std::vector<NodeTime> sample() {
  return {{"stem/conv", "conv2d", 4, 0.008, {.flops = 3e9, .bytes = 1e9}},
          {"stem/relu", "relu", 4, 0.040, {.flops = 1e6, .bytes = 2e9}},
          {"stage1/conv", "conv2d", 4, 0.016, {.flops = 5e9, .bytes = 4e9}}};
}

TEST(OpTimes, NodesOfAnOpAddUpPerRunTheLongestFirst) {
  const std::vector<OpTime> ops = by_op(sample());
  ASSERT_EQ(ops.size(), 2U);
  EXPECT_EQ(ops[0].op, "relu");
  EXPECT_EQ(ops[0].nodes, 1);
  EXPECT_DOUBLE_EQ(ops[0].ms, 10);
  EXPECT_EQ(ops[1].op, "conv2d");
  EXPECT_EQ(ops[1].nodes, 2);
  EXPECT_DOUBLE_EQ(ops[1].ms, 6);  // (8 + 16) / 4
  EXPECT_DOUBLE_EQ(ops[1].gflops, 8);
  EXPECT_DOUBLE_EQ(ops[1].gbytes, 5);
}

TEST(OpTimes, NodesThatNeverRanTookNoTime) {
  const std::vector<OpTime> ops = by_op({{"conv", "conv2d", 0, 0, {.flops = 1e9, .bytes = 0}}});
  ASSERT_EQ(ops.size(), 1U);
  EXPECT_EQ(ops[0].ms, 0);
  EXPECT_EQ(ops[0].gflops, 1);
  EXPECT_TRUE(by_op({}).empty());
}

TEST(OpTimes, SecondsAreThoseOfAllRunsEvenWhereNodesRanUnequallyOften) {
  std::vector<NodeTime> nodes = sample();
  nodes.push_back({"stem/conv", "conv2d", 1, 0.5, {}});  // of another executable
  const NamedValues seconds = seconds_by_op(nodes);
  ASSERT_EQ(seconds.size(), 2U);
  EXPECT_EQ(seconds[0].name, "conv2d");
  EXPECT_DOUBLE_EQ(seconds[0].value, 0.524);
  EXPECT_EQ(seconds[1].name, "relu");
  EXPECT_DOUBLE_EQ(seconds[1].value, 0.040);
}

TEST(OpTimes, ATraceBeginsAtItsFirstEventAndNamesNodesByTheirPath) {
  const auto trace = trace_events(sample(), {{2, 100.5, 0.25}, {1, 100.75, 0.125}});
  ASSERT_EQ(trace.size(), 2U);
  EXPECT_EQ(trace[0].name, "stage1/conv");
  EXPECT_EQ(trace[0].category, "conv2d");
  EXPECT_EQ(trace[0].start_us, 0);
  EXPECT_EQ(trace[0].duration_us, 250000);
  EXPECT_EQ(trace[0].detail, "conv2d: 5.000 GFLOP, 4000.0 MB");
  EXPECT_EQ(trace[1].name, "stem/relu");
  EXPECT_EQ(trace[1].start_us, 250000);
  EXPECT_TRUE(trace_events(sample(), {}).empty());
}

}  // namespace
}  // namespace toroid
