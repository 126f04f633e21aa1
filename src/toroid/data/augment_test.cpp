#include "toroid/data/augment.h"

#include <set>

#include "toroid/base/testing.h"

namespace toroid {
namespace {

/// A picture whose pixels are all different and not black.
Image numbered(int height, int width, int channels) {
  Image image(height, width, channels);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<std::uint8_t>(i + 1);
  }
  return image;
}

std::string bytes(const Image& image) {
  return {image.pixels.begin(), image.pixels.end()};
}

TEST(Augment, FlippingMirrorsWholePixelsHalfOfTheTime) {
  const Image image = numbered(2, 3, 3);
  Image mirrored(2, 3, 3);
  mirrored.pixels = {7, 8, 9, 4, 5, 6, 1, 2, 3, 16, 17, 18, 13, 14, 15, 10, 11, 12};
  int flips = 0;
  for (std::uint32_t id = 0; id < 1000; ++id) {
    const Image result = augment(image, {{"flip_horizontal"}}, 1, 0, id);
    ASSERT_TRUE(result == image || result == mirrored);
    flips += result == mirrored ? 1 : 0;
  }
  EXPECT_NEAR(flips, 500, 50);
}

TEST(Augment, RandomCropTakesEveryWindowOfThePaddedPicture) {
  const Image image = numbered(3, 2, 1);
  std::set<std::string> seen;
  for (std::uint32_t id = 0; id < 2000; ++id) {
    seen.insert(bytes(augment(image, {{"random_crop", 1}}, 1, 0, id)));
  }
  EXPECT_EQ(seen.size(), 9U);
  EXPECT_TRUE(seen.contains({1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(seen.contains({0, 0, 0, 1, 0, 3}));  // down and to the right by one
  EXPECT_TRUE(seen.contains({4, 0, 6, 0, 0, 0}));  // up and to the left by one
}

TEST(Augment, APaddingAboveTheSizeLeavesBlackAtWorst) {
  const Image image = numbered(2, 2, 1);
  for (std::uint32_t id = 0; id < 500; ++id) {
    EXPECT_EQ(augment(image, {{"random_crop", 10}}, 1, 0, id).pixels.size(), 4U);
  }
}

TEST(Augment, DrawsDependOnSeedEpochAndExampleAlone) {
  const Image image = numbered(5, 5, 1);
  const std::vector<Augmentation> both = {{"random_crop"}, {"flip_horizontal"}};
  EXPECT_EQ(augment(image, both, 7, 3, 11), augment(image, both, 7, 3, 11));
  std::set<std::string> seen;
  for (std::uint32_t i = 0; i < 20; ++i) {
    seen.insert(bytes(augment(image, both, 7, i, 11)));
    seen.insert(bytes(augment(image, both, 7, 3, 100 + i)));
    seen.insert(bytes(augment(image, both, 100 + i, 3, 11)));
  }
  EXPECT_GT(seen.size(), 30U);
}

TEST(Augment, UnknownAndDoubledNamesAreRefused) {
  EXPECT_ERROR(
      check_augmentations({{"flip_vertical"}}),
      "augmentation \"flip_vertical\" is unknown; known are: flip_horizontal, random_crop");
  EXPECT_ERROR(check_augmentations({{"random_crop"}, {"random_crop"}}), "listed twice");
  EXPECT_ERROR(check_augmentations({{"random_crop", -1}}), "padding -1 is not in 0..1024");
}

}  // namespace
}  // namespace toroid
