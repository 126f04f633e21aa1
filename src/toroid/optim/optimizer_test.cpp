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

TEST(Optimizer, NesterovWithoutMomentumIsRefused) {
  EXPECT_ERROR(make_optimizer({.name = "sgd", .momentum = 0, .nesterov = true}),
               "optimizer.nesterov = true needs momentum");
}

TEST(Multipliers, TheMostSpecificPatternWinsWhateverTheOrder) {
  const std::map<std::string, double> multipliers{
      {"*", 2}, {"*/kernel", 3}, {"stage1/*", 4}, {"stage1/*/kernel", 5}, {"stage?/b/kernel", 6}};
  EXPECT_EQ(learning_rate_multiplier(multipliers, "stem/bias"), 2);
  EXPECT_EQ(learning_rate_multiplier(multipliers, "stem/kernel"), 3);
  EXPECT_EQ(learning_rate_multiplier(multipliers, "stage1/a/bias"), 4);
  EXPECT_EQ(learning_rate_multiplier(multipliers, "stage1/a/kernel"), 5);
  EXPECT_EQ(learning_rate_multiplier(multipliers, "stage2/b/kernel"), 6);
  EXPECT_EQ(learning_rate_multiplier({{"head/*", 10}}, "stem/kernel"), 1);
}

TEST(Multipliers, EquallySpecificPatternsAreRefused) {
  EXPECT_ERROR(learning_rate_multiplier({{"a/*", 1}, {"*/b", 2}}, "a/b"),
               "optimizer.multipliers: \"*/b\" and \"a/*\" both match a/b and neither is more "
               "specific");
}

TEST(Multipliers, APatternThatMatchesNothingIsNamed) {
  const std::vector<std::string> parameters{"conv/kernel", "conv/bias"};
  EXPECT_NO_THROW(check_multipliers({{"conv/*", 1}}, parameters));
  EXPECT_ERROR(check_multipliers({{"conv/*", 1}, {"haed/*", 10}}, parameters),
               "optimizer.multipliers: \"haed/*\" matches no parameter; the model's begin with "
               "conv/kernel");
}

TEST(Optimizer, UnknownNamesAreRefused) {
  EXPECT_ERROR(make_optimizer({.name = "adma"}),
               "unknown optimizer \"adma\": did you mean \"adam\"?");
}

}  // namespace
}  // namespace toroid
