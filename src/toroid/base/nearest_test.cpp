#include "toroid/base/nearest.h"

#include <gtest/gtest.h>

#include <array>

#include "toroid/base/testing.h"

namespace toroid {
namespace {

constexpr std::array<std::string_view, 3> kNames{"momentum", "weight_decay", "name"};

TEST(Nearest, FindsATypoAndASwap) {
  EXPECT_EQ(nearest("momentun", kNames), "momentum");
  EXPECT_EQ(nearest("weigth_decay", kNames), "weight_decay");
  EXPECT_EQ(nearest("nmae", kNames), "name");
}

TEST(Nearest, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest("zzzzzz", kNames), "");
}

TEST(Nearest, TheErrorListsWhatIsKnown) {
  EXPECT_ERROR(fail_unknown("key", "nam", kNames),
               "unknown key \"nam\": did you mean \"name\"? (known: momentum, weight_decay, name)");
}

}  // namespace
}  // namespace toroid
