#include "toroid/data/image.h"

#include <zlib.h>

#include <cmath>

#include "toroid/base/file.h"
#include "toroid/base/testing.h"

namespace toroid {
namespace {

/// A smooth picture, which JPEG keeps nearly as it is.
Image gradient(int height, int width, int channels) {
  Image image(height, width, channels);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        image.row(y)[x * channels + c] = static_cast<std::uint8_t>((c == 0   ? 3 * x
                                                                    : c == 1 ? 3 * y
                                                                             : 2 * (x + y)) %
                                                                   256);
      }
    }
  }
  return image;
}

double mean_difference(const Image& a, const Image& b) {
  EXPECT_EQ(a.pixels.size(), b.pixels.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.pixels.size(); ++i) sum += std::abs(a.pixels[i] - b.pixels[i]);
  return sum / static_cast<double>(a.pixels.size());
}

TEST(Image, PngKeepsEveryPixel) {
  for (const int channels : {1, 3}) {
    for (const auto& [height, width] : {std::pair{1, 1}, {28, 28}, {7, 13}}) {
      const Image image = gradient(height, width, channels);
      EXPECT_EQ(decode_image(encode_png(image), 0, "x"), image);
    }
  }
}

TEST(Image, TheStoredSizeComesFromTheHeaderAlone) {
  const Image image = gradient(40, 61, 3);
  for (const std::string& file : {encode_png(image), encode_jpeg(image, 90)}) {
    EXPECT_EQ(stored_size(file, "x"), (ImageSize{40, 61}));
    EXPECT_EQ(stored_size(file.substr(0, 700), "x"), (ImageSize{40, 61}));
    EXPECT_ERROR(stored_size(file.substr(0, 20), "x"), "is damaged or cut off");
  }
  EXPECT_ERROR(stored_size("GIF89a", "x"), "x: is a GIF picture");
}

TEST(Image, AWindowIsDecodedToItsPixels) {
  const Image image = gradient(5, 4, 1);
  const Image window = decode_window(encode_png(image), 1, {1, 2, 3, 2}, "x");
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 2; ++x) EXPECT_EQ(window.row(y)[x], image.row(1 + y)[2 + x]);
  }
  EXPECT_ERROR(decode_window(encode_png(image), 1, {1, 2, 3, 3}, "a.png"),
               "a.png: the window of 3 x 3 pixels at column 2, row 1 does not lie in a picture of "
               "4 x 5");
}

TEST(Image, JpegComesBackClose) {
  const Image colour = gradient(40, 60, 3);
  EXPECT_LT(mean_difference(decode_image(encode_jpeg(colour, 95), 3, "x"), colour), 2);
  const Image grey = gradient(40, 60, 1);
  EXPECT_EQ(decode_image(encode_jpeg(grey, 95), 0, "x").channels, 1);
  EXPECT_LT(mean_difference(decode_image(encode_jpeg(grey, 95), 1, "x"), grey), 2);
  EXPECT_ERROR(encode_jpeg(grey, 0), "JPEG quality is 1 to 100, not 0");
}

TEST(Image, ChannelsAreConvertedByRepeatingAndByLuma) {
  Image rgb(1, 3, 3);
  rgb.pixels = {255, 0, 0, 0, 255, 0, 0, 0, 255};
  EXPECT_EQ(decode_image(encode_png(rgb), 1, "x").pixels, (std::vector<std::uint8_t>{76, 150, 29}));
  Image grey(1, 2, 1);
  grey.pixels = {7, 200};
  EXPECT_EQ(decode_image(encode_png(grey), 3, "x").pixels,
            (std::vector<std::uint8_t>{7, 7, 7, 200, 200, 200}));
}

/// One chunk of a PNG file (PNG specification, 5.3).
std::string chunk(const std::string& type_and_data) {
  const auto big_endian = [](std::size_t word) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(word >> shift));
    return bytes;
  };
  const auto* bytes = reinterpret_cast<const unsigned char*>(type_and_data.data());
  return big_endian(type_and_data.size() - 4) + type_and_data +
         big_endian(::crc32(0, bytes, static_cast<unsigned>(type_and_data.size())));
}

TEST(Image, SixteenBitGreyIsScaledAndNotClamped) {
  std::string rows;
  for (int y = 0; y < 256; ++y) {
    rows.push_back('\0');  // no filter
    for (int x = 0; x < 256; ++x) rows += {static_cast<char>(y), static_cast<char>(x)};
  }
  std::string packed(::compressBound(rows.size()), '\0');
  auto size = static_cast<uLongf>(packed.size());
  ASSERT_EQ(::compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                       reinterpret_cast<const Bytef*>(rows.data()), rows.size()),
            Z_OK);
  const std::string file = "\x89PNG\r\n\x1a\n" +
                           chunk(std::string("IHDR\0\0\1\0\0\0\1\0\x10\0\0\0\0", 17)) +
                           chunk("IDAT" + packed.substr(0, size)) + chunk("IEND");
  const Image image = decode_image(file, 0, "x");
  ASSERT_EQ(image.channels, 1);
  for (int value = 0; value < 65536; ++value) {
    ASSERT_EQ(image.row(value / 256)[value % 256], std::lround(value * 255.0 / 65535)) << value;
  }
}

TEST(Image, OtherKindsAreNamed) {
  const auto refusal = [](std::string_view bytes) {
    return error_of([&] { decode_image(bytes, 3, "cat.JPEG"); });
  };
  EXPECT_EQ(
      refusal("GIF89a......"),
      "cat.JPEG: is a GIF picture; only JPEG and PNG pictures are read, so convert or remove it");
  EXPECT_NE(refusal("BM\x46..........").find("is a BMP picture"), std::string::npos);
  EXPECT_NE(refusal("RIFF\x24\x01\x01\x01WEBPVP8 ").find("is a WebP picture"), std::string::npos);
  EXPECT_NE(refusal("<!DOCTYPE html>").find("is an HTML, XML or SVG page"), std::string::npos);
  EXPECT_NE(refusal(std::string_view("\0\0\0\x01"
                                     "Bud1\0\0",
                                     10))
                .find("a macOS .DS_Store file"),
            std::string::npos);
  EXPECT_NE(refusal("image,level\n").find("is text"), std::string::npos);
  EXPECT_NE(refusal("").find("is empty"), std::string::npos);
  EXPECT_NE(refusal("\x01").find("begins with bytes 01 00"), std::string::npos);
}

TEST(Image, EveryCutOfAFileIsAnErrorAndNoCrash) {
  const Image image = gradient(24, 24, 3);
  const std::string png = encode_png(image);
  const std::string jpeg = encode_jpeg(image, 90);
  for (std::size_t size = 0; size + 12 < png.size(); ++size) {  // IEND may be missing
    EXPECT_THROW(decode_image(std::string_view(png).substr(0, size), 3, "x"), Error) << size;
  }
  for (std::size_t size = 0; size + 8 < jpeg.size(); ++size) {  // so may the end marker
    EXPECT_THROW(decode_image(std::string_view(jpeg).substr(0, size), 3, "x"), Error) << size;
  }
  EXPECT_EQ(decode_image(std::string_view(jpeg).substr(0, jpeg.size() - 2), 3, "x"),
            decode_image(jpeg, 3, "x"));
}

TEST(Image, FlippedBytesGiveAPictureOrAnError) {
  const Image image = gradient(16, 16, 3);
  for (const std::string& file : {encode_png(image), encode_jpeg(image, 80)}) {
    for (std::size_t i = 0; i < file.size(); ++i) {
      std::string damaged = file;
      damaged[i] = static_cast<char>(~damaged[i]);
      try {
        EXPECT_GT(decode_image(damaged, 3, "x").pixels.size(), 0U);
      } catch (const Error&) {
      }
    }
  }
}

TEST(Image, AbsurdSizesAreRefusedBeforeMemoryIsTaken) {
  std::string jpeg = encode_jpeg(gradient(8, 8, 1), 90);
  const auto frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  for (std::size_t i = 5; i < 9; ++i) jpeg[frame + i] = i % 2 != 0 ? '\xff' : '\x10';
  EXPECT_ERROR(decode_image(jpeg, 1, "big.jpg"),
               "big.jpg: the picture claims 65296 x 65296 pixels, above the limit of 134217728");
}

class OddImages : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder_)) GTEST_SKIP() << "no folder " << folder_;
  }
  Image decode(const std::string& name, int channels = 3) const {
    return decode_image(read_file(folder_ / name), channels, name);
  }
  /// Size, and the mean of each channel to 0.5, as Pillow 13.0 gives them.
  void expect(const std::string& name, int height, int width, std::vector<double> means) const {
    const Image image = decode(name);
    EXPECT_EQ(image.height, height) << name;
    EXPECT_EQ(image.width, width) << name;
    ASSERT_EQ(image.channels, 3) << name;
    std::vector<double> sums(3);
    for (std::size_t i = 0; i < image.pixels.size(); ++i) sums[i % 3] += image.pixels[i];
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_NEAR(sums[c] / (height * width), means[c], 0.5) << name << " channel " << c;
    }
  }
  const std::filesystem::path folder_ =
      std::filesystem::path(TOROID_SOURCE_DIR) / "../shared/data/odd-images";
};

TEST_F(OddImages, DecodeAsPillowDecodesThem) {
  expect("hopper.jpg", 128, 128, {89.72, 80.08, 95.41});
  expect("hopper.png", 128, 128, {89.71, 80.09, 95.38});
  expect("hopper_gray.jpg", 128, 128, {84.69, 84.69, 84.69});
  expect("pil_sample_cmyk.jpg", 100, 100, {30.23, 5.44, 7.39});
  expect("rgb.jpg", 100, 100, {67.98, 31.52, 32.65});
  expect("pil123p.png", 150, 162, {20.92, 19.57, 2.35});
  expect("200x32_gray_alpha.png", 32, 200, {121.94, 121.94, 121.94});
  expect("junk_jpeg_header.jpg", 768, 1024, {117.10, 115.83, 116.81});
  expect("icc-after-SOF.jpg", 10, 10, {0, 0, 0});
  expect("jfif_unit_cm.jpg", 1, 1, {0, 0, 0});
  expect("hopper_16bit_qtables.jpg", 128, 128, {90.13, 80.28, 94.80});
  expect("flower2.jpg", 225, 300, {116.45, 78.92, 77.16});
  expect("jpeg_ff00_header.jpg", 225, 300, {116.45, 78.92, 77.16});
  expect("apng_16bit_rgba.png", 64, 128, {254, 0, 0});  // 65280: Pillow drops the low byte
  expect("truncated_app14.jpg", 100, 100, {28.0, 4.49, 3.5});
}

TEST_F(OddImages, ACutOffPictureIsAnErrorThatNamesIt) {
  EXPECT_ERROR(decode("truncated_jpeg.jpg"),
               "truncated_jpeg.jpg: the JPEG picture is damaged or cut off");
}

TEST_F(OddImages, NoFileCrashesTheDecoder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
    if (!entry.is_regular_file()) continue;
    for (const int channels : {0, 1, 3}) {
      try {
        const Image image = decode_image(read_file(entry.path()), channels, "x");
        EXPECT_GT(image.pixels.size(), 0U);
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace toroid
