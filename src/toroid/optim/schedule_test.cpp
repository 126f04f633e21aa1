#include "toroid/optim/schedule.h"

#include <gtest/gtest.h>

#include "toroid/base/testing.h"

namespace toroid {
namespace {

void expect_rates(const Schedule& schedule, const std::vector<double>& expected) {
  for (std::size_t step = 0; step < expected.size(); ++step) {
    EXPECT_NEAR(schedule.rate(static_cast<std::int64_t>(step)), expected[step], 1e-14)
        << "step " << step;
  }
}

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
  expect_rates(schedule, {0.25, 0.5, 0.75, 1.0, 0.904508497187474, 0.654508497187474,
                          0.345491502812526, 0.0954915028125263, 0.0});
}

// Milestones 1 and 2.5 epochs of 2 steps: before steps 2 and 5.
TEST(Schedule, StepsFallAtTheirMilestonesInWhateverOrder) {
  const Schedule schedule({.name = "step", .rate = 8, .milestones = {2.5, 1}, .factor = 0.5},
                          {.total_steps = 7, .steps_per_epoch = 2});
  expect_rates(schedule, {8, 8, 4, 4, 4, 2, 2});
  EXPECT_EQ(schedule.turning_steps(), (std::vector<std::int64_t>{2, 5, 6}));
}

TEST(Schedule, MilestonesCountFromTheStartOfTheRunAndActAfterTheWarmup) {
  const Schedule schedule(
      {.name = "step", .rate = 8, .warmup_epochs = 2, .milestones = {1, 3}, .factor = 0.5},
      {.total_steps = 8, .steps_per_epoch = 2});
  expect_rates(schedule, {2, 4, 6, 8, 4, 4, 2, 2});
  EXPECT_EQ(schedule.turning_steps(), (std::vector<std::int64_t>{3, 4, 6, 7}));
}

// (1 - p)^2 with p = 0, 1/5 .. 1 from the end of the warm-up, between 1 and 0.1.
TEST(Schedule, PolynomialGivesTheValuesComputedByHand) {
  const Schedule schedule(
      {.name = "polynomial", .rate = 1, .warmup_epochs = 2, .end = 0.1, .power = 2},
      {.total_steps = 9, .steps_per_epoch = 2});
  expect_rates(schedule, {0.25, 0.5, 0.75, 1, 0.676, 0.424, 0.244, 0.136, 0.1});
}

// 0.8 / 2^(epochs since the peak), four steps an epoch.
TEST(Schedule, ExponentialFallsByItsFactorEveryEpoch) {
  const Schedule schedule({.name = "exponential", .rate = 0.8, .warmup_epochs = 0.5, .factor = 0.5},
                          {.total_steps = 10, .steps_per_epoch = 4});
  expect_rates(schedule, {0.4, 0.8, 0.672717132202972, 0.565685424949238, 0.475682846001088, 0.4,
                          0.336358566101486, 0.282842712474619, 0.237841423000544, 0.2});
}

// torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1, total_steps=10), by its formulas:
// up to step 2, and from there down to 1 / 25 / 1e4.
TEST(Schedule, OneCycleIsThatOfPyTorch) {
  const Schedule schedule({.name = "one_cycle", .rate = 1},
                          {.total_steps = 10, .steps_per_epoch = 3});
  expect_rates(schedule, {0.04, 0.52, 1, 0.950484632013474, 0.811745653949763, 0.611262021936289,
                          0.388741978063711, 0.188258346050237, 0.0495193679865263, 4e-06});
  EXPECT_EQ(schedule.turning_steps(), (std::vector<std::int64_t>{2, 9}));
}

// max_lr=0.5, total_steps=9, pct_start=0.25, div_factor=10, final_div_factor=100: the peak is
// between steps 1 and 2.
TEST(Schedule, OneCyclesPeakMayFallBetweenTwoSteps) {
  const Schedule schedule({.name = "one_cycle",
                           .rate = 0.5,
                           .pct_start = 0.25,
                           .div_factor = 10,
                           .final_div_factor = 100},
                          {.total_steps = 9, .steps_per_epoch = 3});
  expect_rates(schedule,
               {0.05, 0.457028823734363, 0.484938232041281, 0.421638849057716, 0.321879107369595,
                0.206881367627684, 0.101109641722229, 0.0270652480792278, 0.0005});
}

TEST(Schedule, WhatItNeedsIsAskedFor) {
  EXPECT_ERROR(Schedule({.name = "step"}, {.total_steps = 4, .steps_per_epoch = 2}),
               "schedule.milestones is missing");
  EXPECT_ERROR(
      Schedule({.name = "one_cycle", .warmup_epochs = 1}, {.total_steps = 4, .steps_per_epoch = 2}),
      "schedule.warmup_epochs = 1: one_cycle rises by itself; set schedule.pct_start");
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
