#include "toroid/optim/schedule.h"

#include <gtest/gtest.h>

#include "toroid/base/testing.h"

namespace toroid {
namespace {

TEST(Schedule, WarmupReachesThePeakExactlyOnceAndTheLastStepIsTheEnd) {
  for (const double warmup : {0.0, 1.0, 5.0}) {
    const Schedule schedule({.name = "cosine", .rate = 0.4, .warmup_epochs = warmup, .end = 0.01},
                            {.total_steps = 100, .steps_per_epoch = 10});
    int peaks = 0;
    for (int step = 0; step < 100; ++step) {
      EXPECT_LE(schedule.rate(step), 0.4);
      peaks += schedule.rate(step) == 0.4;
    }
    EXPECT_EQ(peaks, 1) << warmup;
    EXPECT_DOUBLE_EQ(schedule.rate(99), 0.01);
  }
}

TEST(Schedule, GivesTheValuesComputedByHand) {
  const Schedule schedule({.name = "cosine", .rate = 1, .warmup_epochs = 1, .end = 0},
                          {.total_steps = 9, .steps_per_epoch = 4});
  const double expected[] = {0.25,
                             0.5,
                             0.75,
                             1.0,
                             0.904508497187474,
                             0.654508497187474,
                             0.345491502812526,
                             0.0954915028125263,
                             0.0};
  for (int step = 0; step < 9; ++step) EXPECT_NEAR(schedule.rate(step), expected[step], 1e-14);
}

TEST(Schedule, WarmupMayFillTheRunButNotMore) {
  const Schedule all({.rate = 2, .warmup_epochs = 2}, {.total_steps = 4, .steps_per_epoch = 2});
  EXPECT_DOUBLE_EQ(all.rate(3), 2);
  EXPECT_ERROR(Schedule({.rate = 2, .warmup_epochs = 3}, {.total_steps = 4, .steps_per_epoch = 2}),
               "schedule.warmup_epochs = 3: the warm-up takes 6 steps, the whole run 4");
}

TEST(Schedule, UnknownNamesAreRefused) {
  EXPECT_ERROR(Schedule({.name = "cosin"}, {}),
               "unknown schedule \"cosin\": did you mean \"cosine\"?");
}

}  // namespace
}  // namespace toroid
