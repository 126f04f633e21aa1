#include "toroid/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace toroid {
namespace {

// Known answers published with Random123 (kat_vectors, philox4x32 10).
TEST(Random, PhiloxGivesThePublishedWords) {
  using Block = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox({0, 0}, {0, 0, 0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, StreamsDifferInEveryPartOfTheKey) {
  const auto first = [](Random random) { return random.next(); };
  const auto base = first(Random(1, "flip", 2, 3));
  EXPECT_EQ(base, first(Random(1, "flip", 2, 3)));
  EXPECT_NE(base, first(Random(2, "flip", 2, 3)));
  EXPECT_NE(base, first(Random(1, "crop", 2, 3)));
  EXPECT_NE(base, first(Random(1, "flip", 3, 3)));
  EXPECT_NE(base, first(Random(1, "flip", 2, 4)));
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  Random random(7, "test");
  double sum = 0, squares = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    const double x = random.normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / n, 0.0, 0.02);
  EXPECT_NEAR(squares / n, 1.0, 0.02);
}

TEST(Random, BelowStaysBelowAndReachesEveryValue) {
  Random random(7, "test");
  std::array<int, 5> seen{};
  for (int i = 0; i < 1000; ++i) ++seen.at(random.below(5));
  for (const int count : seen) EXPECT_GT(count, 120);
}

TEST(Random, PermutationHoldsEachIndexOnceAndDependsOnTheEpoch) {
  auto order = permutation(101, 1, "shuffle", 0);
  EXPECT_NE(order, permutation(101, 1, "shuffle", 1));
  EXPECT_EQ(order, permutation(101, 1, "shuffle", 0));
  std::sort(order.begin(), order.end());
  for (std::uint32_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], i);
  EXPECT_TRUE(permutation(0, 1, "shuffle").empty());
}

}  // namespace
}  // namespace toroid
