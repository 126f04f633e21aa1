// The updates' values are tested where a backend is at hand (train/update_test.cpp).
#include "toroid/optim/optimizer.h"

#include <gtest/gtest.h>

#include "toroid/base/testing.h"

namespace toroid {
namespace {

const Variable kKernel{"conv/kernel", {DType::f32, Shape{2, 3}}};

TEST(Optimizer, SlotsAreNamedAfterTheParameterAndStartAtZero) {
  const auto slots = make_optimizer({.name = "adam"})->slots(kKernel);
  ASSERT_EQ(slots.size(), 2U);
  EXPECT_EQ(slots[0].name, "optimizer/adam_mean/conv/kernel");
  EXPECT_EQ(slots[1].name, "optimizer/adam_variance/conv/kernel");
  for (const Variable& slot : slots) {
    EXPECT_EQ(slot.type, kKernel.type);
    EXPECT_EQ(slot.initializer, Initializer::kZeros);
    EXPECT_FALSE(slot.trainable);
  }
}

TEST(Optimizer, WithoutMomentumThereIsNoBuffer) {
  EXPECT_TRUE(make_optimizer({.name = "sgd", .momentum = 0})->slots(kKernel).empty());
}

TEST(Optimizer, UnknownNamesAreRefused) {
  EXPECT_ERROR(make_optimizer({.name = "adma"}),
               "unknown optimizer \"adma\": did you mean \"adam\"?");
}

}  // namespace
}  // namespace toroid
