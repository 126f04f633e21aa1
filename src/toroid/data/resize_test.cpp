#include "toroid/data/resize.h"

#include <zlib.h>

#include "toroid/base/testing.h"

namespace toroid {
namespace {

Image grey(int height, int width, std::vector<std::uint8_t> pixels) {
  Image image(height, width, 1);
  image.pixels = std::move(pixels);
  return image;
}

const Image kSmall = grey(3, 5, {0, 10, 20, 30, 255, 40, 50, 200, 70, 80, 90, 100, 110, 0, 130});

// The expected pixels and checksums are those of Pillow 13.0's Image.resize((w, h), BILINEAR).

TEST(Resize, SmallPicturesEqualPillowPixelByPixel) {
  EXPECT_EQ(resize(kSmall, 2, 2), grey(2, 2, {37, 100, 90, 83}));
  EXPECT_EQ(resize(kSmall, 4, 3), grey(4, 3, {4, 20, 159, 29, 94, 107, 63, 117, 75, 94, 83, 74}));
  EXPECT_EQ(resize(kSmall, 3, 7), grey(3, 7, {0,   6,  13, 20, 27, 126, 255, 40, 46, 93, 200,
                                              107, 74, 80, 90, 96, 103, 110, 31, 56, 130}));
  EXPECT_EQ(resize(kSmall, 2, 5), grey(2, 5, {15, 25, 88, 45, 189, 71, 81, 144, 26, 111}));
  EXPECT_EQ(resize(kSmall, 1, 1), grey(1, 1, {81}));
}

TEST(Resize, ColourPicturesEqualPillowDownAndUp) {
  Image image(50, 61, 3);
  for (int y = 0; y < 50; ++y) {
    for (int x = 0; x < 61; ++x) {
      std::uint8_t* pixel = image.row(y) + 3 * x;
      pixel[0] = static_cast<std::uint8_t>(x * 37 + y * 11);
      pixel[1] = static_cast<std::uint8_t>(x * x + y * y);
      pixel[2] = (x / 3 + y / 5) % 2 != 0 ? 255 : 0;
    }
  }
  const auto checksum = [&](int height, int width) {
    const Image result = resize(image, height, width);
    return ::crc32(0, result.pixels.data(), static_cast<unsigned>(result.pixels.size()));
  };
  EXPECT_EQ(checksum(9, 13), 0xd587d18fU);
  EXPECT_EQ(checksum(20, 61), 0x5f70a3a6U);
  EXPECT_EQ(checksum(50, 30), 0x6abee8b1U);
  EXPECT_EQ(checksum(77, 100), 0xd6a0cb16U);
}

TEST(Resize, ACheckerboardBecomesGreyAndNotMoire) {
  Image image(1000, 1000, 1);
  for (int y = 0; y < 1000; ++y) {
    for (int x = 0; x < 1000; ++x) image.row(y)[x] = (x + y) % 2 != 0 ? 255 : 0;
  }
  for (const int pixel : resize(image, 224, 224).pixels) EXPECT_NEAR(pixel, 127.5, 4);
}

TEST(Resize, WindowsAreCroppedAndBlackOutside) {
  EXPECT_EQ(crop(kSmall, {1, 1, 1, 3}), grey(1, 3, {50, 200, 70}));
  EXPECT_EQ(crop(kSmall, {0, 0, 3, 5}), kSmall);
  EXPECT_EQ(crop(kSmall, {-1, 3, 3, 3}), grey(3, 3, {0, 0, 0, 30, 255, 0, 70, 80, 0}));
  EXPECT_EQ(crop(kSmall, {2, -1, 2, 2}), grey(2, 2, {0, 90, 0, 0}));
  for (const CropWindow& outside : {CropWindow{0, 5, 1, 2}, {0, -2, 1, 2}, {3, 0, 1, 2}}) {
    EXPECT_EQ(crop(kSmall, outside), grey(1, 2, {0, 0}));
  }
}

TEST(Resize, TheCentreSquareIsAFractionOfTheShorterSide) {
  EXPECT_EQ(centre_square({3, 5}, 1), (CropWindow{0, 1, 3, 3}));
  EXPECT_EQ(centre_square({256, 341}, 0.875), (CropWindow{16, 58, 224, 224}));
  EXPECT_EQ(centre_square({500, 1}, 0.1), (CropWindow{249, 0, 1, 1}));
}

TEST(Resize, ASquareIsTheCentreResized) {
  const Image centre = grey(3, 3, {10, 20, 30, 50, 200, 70, 100, 110, 0});
  EXPECT_EQ(fit_to_square(kSmall, 2), resize(centre, 2, 2));
}

TEST(Resize, ASquareOfTheWantedSizeIsLeftAlone) {
  const Image square = grey(2, 2, {1, 2, 3, 4});
  EXPECT_EQ(fit_to_square(square, 2), square);
}

TEST(Resize, TinyAndExtremePicturesFitASquare) {
  for (const auto& [height, width] : {std::pair{1, 1}, {1, 500}, {500, 1}, {8, 8}, {3, 2}}) {
    Image image(height, width, 3);
    std::fill(image.pixels.begin(), image.pixels.end(), std::uint8_t{77});
    for (const int size : {1, 5, 32}) {
      const Image square = fit_to_square(image, size);
      EXPECT_EQ(square.height, size);
      EXPECT_EQ(square.width, size);
      EXPECT_EQ(std::count(square.pixels.begin(), square.pixels.end(), 77), size * size * 3);
    }
  }
}

}  // namespace
}  // namespace toroid
