#include "toroid/data/augment.h"

#include <set>

#include "toroid/base/testing.h"
#include "toroid/data/resize.h"

namespace toroid {
namespace {

using List = std::vector<Augmentation>;

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

/// The only step that a single transformation gives.
PictureStep step(const Augmentation& one, int image_size, ImageSize size, const DrawKey& key) {
  const auto steps = plan_steps({one}, image_size, size, key, "x");
  EXPECT_EQ(steps.size(), 1U);
  return steps.at(0);
}

Image transformed(const Image& image, const List& list, const DrawKey& key) {
  return load_picture(encode_png(image), image.channels, list, 0, key, "x");
}

Augmentation random_crop(int size, int padding) {
  return {.name = "random_crop", .size = size, .padding = padding};
}

// The draws expected below are those of a second implementation in Python (Philox, FNV-1a, Lemire's
// bounded integers, torchvision's RandomResizedCrop.get_params).

TEST(Augment, RandomResizedCropsAreTheseWindows) {
  const auto window = [](std::uint64_t seed, std::uint32_t epoch, std::uint32_t id) {
    const PictureStep one = step({"random_resized_crop"}, 128, {375, 500}, {seed, epoch, id});
    EXPECT_EQ(one.result, (ImageSize{128, 128}));
    return one.window;
  };
  EXPECT_EQ(window(1, 0, 0), (CropWindow{40, 65, 311, 269}));
  EXPECT_EQ(window(1, 0, 1), (CropWindow{44, 126, 311, 256}));
  EXPECT_EQ(window(1, 1, 0), (CropWindow{10, 17, 362, 457}));  // at the second try
  EXPECT_EQ(window(2, 0, 0), (CropWindow{5, 14, 358, 460}));   // at the fourth
  EXPECT_EQ(window((std::uint64_t{1} << 40) + 7, 3, 1000000), (CropWindow{114, 84, 257, 320}));
}

TEST(Augment, AfterTenTriesTheLargestCentralWindowIsTaken) {
  const auto window = [](ImageSize size, std::uint32_t id) {
    return step({"random_resized_crop"}, 8, size, {1, 0, id}).window;
  };
  EXPECT_EQ(window({40, 400}, 0), (CropWindow{0, 173, 40, 53}));
  EXPECT_EQ(window({40, 400}, 3), (CropWindow{0, 182, 36, 45}));  // the third try fits
  EXPECT_EQ(window({400, 40}, 0), (CropWindow{173, 0, 53, 40}));
}

TEST(Augment, RandomResizedCropsLieInAnyPictureAndCoverWhatTheyShould) {
  for (const ImageSize& size : {ImageSize{1, 1}, {1, 500}, {500, 1}, {8, 8}, {3, 2}, {375, 500}}) {
    double share = 0;
    std::set<int> tops;
    for (std::uint32_t id = 0; id < 20000; ++id) {
      const CropWindow w = step({"random_resized_crop"}, 8, size, {1, 0, id}).window;
      ASSERT_TRUE(w.lies_in(size)) << size.height << " x " << size.width << ", draw " << id;
      share += static_cast<double>(w.height) * w.width / size.height / size.width / 20000;
      tops.insert(w.top);
    }
    if (size.width == 500 && size.height == 375) {
      EXPECT_NEAR(share, 0.433, 0.01);  // below (0.08 + 1) / 2: large windows fit less often
      EXPECT_GT(tops.size(), 200U);
    }
  }
}

TEST(Augment, AreaAndAspectNarrowTheWindows) {
  const Augmentation narrow{.name = "random_resized_crop", .area = {0.25, 0.25}, .aspect = {1, 1}};
  for (std::uint32_t id = 0; id < 100; ++id) {
    EXPECT_EQ(step(narrow, 8, {100, 100}, {1, 0, id}).window.size(), (ImageSize{50, 50}));
  }
}

TEST(Augment, RandomCropsAreTheseWindows) {
  const auto corner = [](std::uint32_t id) {
    const PictureStep one = step(random_crop(128, 4), 128, {140, 140}, {1, 0, id});
    EXPECT_EQ(one.result, (ImageSize{128, 128}));
    return std::pair(one.window.top, one.window.left);
  };
  EXPECT_EQ(corner(0), std::pair(2, 0));
  EXPECT_EQ(corner(1), std::pair(13, 12));
  EXPECT_EQ(corner(3), std::pair(2, -1));
  EXPECT_EQ(corner(4), std::pair(15, 16));
}

TEST(Augment, RandomCropTakesEveryWindowOfThePaddedPicture) {
  const Image image = numbered(3, 2, 1);
  std::set<std::string> seen;
  for (std::uint32_t id = 0; id < 2000; ++id) {
    seen.insert(bytes(transformed(image, {random_crop(0, 1)}, {1, 0, id})));
  }
  EXPECT_EQ(seen.size(), 9U);
  EXPECT_TRUE(seen.contains({1, 2, 3, 4, 5, 6}));
  EXPECT_TRUE(seen.contains({0, 0, 0, 1, 0, 3}));  // down and to the right by one
  EXPECT_TRUE(seen.contains({4, 0, 6, 0, 0, 0}));  // up and to the left by one
}

TEST(Augment, APaddingAboveTheSizeLeavesBlackAtWorst) {
  const Image image = numbered(2, 2, 1);
  for (std::uint32_t id = 0; id < 500; ++id) {
    EXPECT_EQ(transformed(image, {random_crop(0, 10)}, {1, 0, id}).pixels.size(), 4U);
  }
}

TEST(Augment, ACropLargerThanThePictureNamesBoth) {
  EXPECT_ERROR(plan_steps({random_crop(30, 1)}, 30, {40, 27}, {}, "a.jpg"),
               "a.jpg: data.augment: random_crop takes 30 x 30 pixels of a picture that has 27 x "
               "40, with 1 around; lower its size, or put a resize before it");
  EXPECT_NO_THROW(plan_steps({random_crop(30, 2)}, 30, {40, 27}, {}, "a.jpg"));
}

TEST(Augment, FlipsMirrorWholePixelsHalfOfTheTime) {
  const Image image = numbered(2, 3, 3);
  Image mirrored(2, 3, 3), turned(2, 3, 3);
  mirrored.pixels = {7, 8, 9, 4, 5, 6, 1, 2, 3, 16, 17, 18, 13, 14, 15, 10, 11, 12};
  turned.pixels = {10, 11, 12, 13, 14, 15, 16, 17, 18, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (const auto& [name, changed] :
       {std::pair{"flip_horizontal", mirrored}, {"flip_vertical", turned}}) {
    int flips = 0;
    for (std::uint32_t id = 0; id < 1000; ++id) {
      const Image result = transformed(image, {{name}}, {1, 0, id});
      ASSERT_TRUE(result == image || result == changed);
      flips += result == changed ? 1 : 0;
    }
    EXPECT_NEAR(flips, 500, 50) << name;
  }
  const auto draws = [](const char* name) {
    std::string text;
    for (std::uint32_t id = 0; id < 5; ++id) {
      const PictureStep one = step({name}, 8, {9, 9}, {1, 0, id});
      text += one.left_to_right || one.upside_down ? '1' : '0';
    }
    return text;
  };
  EXPECT_EQ(draws("flip_horizontal"), "10100");
  EXPECT_EQ(draws("flip_vertical"), "10011");
}

TEST(Augment, SizesAreMadeOfTheWholePictureOrItsCentre) {
  EXPECT_EQ(step({"resize"}, 32, {40, 60}, {}), (PictureStep{{0, 0, 40, 60}, {32, 32}}));
  EXPECT_EQ(step({.name = "resize", .size = 48}, 32, {40, 60}, {}).result, (ImageSize{48, 48}));
  EXPECT_EQ(step({"centre_crop"}, 32, {40, 60}, {}), (PictureStep{{0, 10, 40, 40}, {32, 32}}));
  EXPECT_EQ(step({.name = "centre_crop", .fraction = 0.875}, 32, {40, 60}, {}),
            (PictureStep{{2, 12, 35, 35}, {32, 32}}));
}

TEST(Augment, TransformationsAreAppliedInTheirOrder) {
  const Image image = numbered(9, 9, 1);
  const Augmentation smaller{.name = "resize", .size = 5};
  for (std::uint32_t id = 0; id < 20; ++id) {
    const DrawKey key{1, 0, id};
    const Image crop_first = transformed(image, {random_crop(7, 0), smaller}, key);
    const CropWindow window = step(random_crop(7, 0), 0, {9, 9}, key).window;
    EXPECT_EQ(crop_first, resize(crop(image, window), 5, 5));
    const Image resize_first = transformed(image, {smaller, random_crop(3, 0)}, key);
    const CropWindow inner = step(random_crop(3, 0), 0, {5, 5}, key).window;
    EXPECT_EQ(resize_first, crop(resize(image, 5, 5), inner));
  }
}

TEST(Augment, AWindowThatIsDecodedGivesThePixelsOfTheWholePicture) {
  const Image image = numbered(50, 60, 3);
  const std::string file = encode_jpeg(image, 90);
  const Image decoded = decode_image(file, 3, "x");
  for (std::uint32_t id = 0; id < 20; ++id) {
    const DrawKey key{1, 0, id};
    const PictureStep one = step({"random_resized_crop"}, 24, {50, 60}, key);
    EXPECT_EQ(load_picture(file, 3, {{"random_resized_crop"}}, 24, key, "x"),
              apply_step(decoded, one));
  }
}

TEST(Augment, DrawsDependOnSeedEpochAndExampleAlone) {
  const Image image = numbered(5, 5, 1);
  const List both = {{"random_crop"}, {"flip_horizontal"}};
  EXPECT_EQ(transformed(image, both, {7, 3, 11}), transformed(image, both, {7, 3, 11}));
  std::set<std::string> seen;
  for (std::uint32_t i = 0; i < 20; ++i) {
    seen.insert(bytes(transformed(image, both, {7, i, 11})));
    seen.insert(bytes(transformed(image, both, {7, 3, 100 + i})));
    seen.insert(bytes(transformed(image, both, {100 + i, 3, 11})));
  }
  EXPECT_GT(seen.size(), 30U);
}

TEST(Augment, EveryKnownTransformationIsPlanned) {
  for (const std::string& name : augmentation_names()) {
    EXPECT_EQ(plan_steps({{name}}, 8, {9, 9}, {}, "x").size(), 1U) << name;
  }
}

}  // namespace
}  // namespace toroid
