#include "toroid/train/best.h"

#include <gtest/gtest.h>

#include <cmath>

namespace toroid {
namespace {

TEST(Best, KeepsTheFirstOfEqualEvaluations) {
  Best best("validation.top1");
  best.offer(10, {{"loss", 1.0}, {"top1", 0.5}});
  best.offer(20, {{"loss", 0.1}, {"top1", 0.5}});
  EXPECT_EQ(best.step(), 10);
  best.offer(30, {{"loss", 9.0}, {"top1", 0.6}});
  EXPECT_EQ(best.step(), 30);
}

TEST(Best, OfALossTheSmallestWins) {
  Best best("validation.loss");
  best.offer(10, {{"loss", 1.0}});
  best.offer(20, {{"loss", 2.0}});
  EXPECT_EQ(best.step(), 10);
  best.offer(30, {{"loss", 0.5}});
  EXPECT_EQ(best.step(), 30);
}

TEST(Best, ANanNeverStaysTheBest) {
  Best best("validation.loss");
  best.offer(10, {{"loss", std::nan("")}});
  best.offer(20, {{"loss", 5.0}});
  best.offer(30, {{"loss", std::nan("")}});
  EXPECT_EQ(best.step(), 20);
}

TEST(Best, SurvivesACheckpoint) {
  Best before("validation.top1"), after("validation.top1");
  before.offer(10, {{"top1", 0.5}});
  CheckpointInfo info;
  before.store(info);
  after.restore(info);
  after.offer(20, {{"top1", 0.4}});
  EXPECT_EQ(after.step(), 10);
}

}  // namespace
}  // namespace toroid
