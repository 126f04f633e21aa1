#include "toroid/data/jpeg.h"

#include <stdio.h>

// libjpeg's header needs stdio.h before it.
#include <jpeglib.h>

#include <array>

#include "toroid/base/testing.h"

namespace toroid {
namespace {

/// A 16x16 JPEG file of one colour, given as the four numbers that are stored.
std::string four_channels(std::array<std::uint8_t, 4> stored, J_COLOR_SPACE space, bool adobe) {
  jpeg_compress_struct codec{};
  jpeg_error_mgr errors{};
  codec.err = jpeg_std_error(&errors);
  jpeg_create_compress(&codec);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&codec, &bytes, &size);
  codec.image_width = codec.image_height = 16;
  codec.input_components = 4;
  codec.in_color_space = JCS_CMYK;
  jpeg_set_defaults(&codec);
  jpeg_set_colorspace(&codec, space);
  jpeg_set_quality(&codec, 100, TRUE);
  codec.write_Adobe_marker = adobe ? TRUE : FALSE;
  jpeg_start_compress(&codec, TRUE);
  std::vector<std::uint8_t> row;
  for (int x = 0; x < 16; ++x) row.insert(row.end(), stored.begin(), stored.end());
  for (int y = 0; y < 16; ++y) {
    JSAMPROW pointer = row.data();
    jpeg_write_scanlines(&codec, &pointer, 1);
  }
  jpeg_finish_compress(&codec);
  std::string file(reinterpret_cast<char*>(bytes), size);
  jpeg_destroy_compress(&codec);
  ::free(bytes);
  return file;
}

void expect_colour(const std::string& file, std::array<int, 3> rgb) {
  const Image image = decode_jpeg(file, 3, "x");
  ASSERT_EQ(image.channels, 3);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    ASSERT_NEAR(image.pixels[i], rgb[i % 3], 2) << "channel " << i % 3;
  }
}

TEST(Jpeg, AdobesCmykIsStoredInverted) {
  for (const J_COLOR_SPACE space : {JCS_CMYK, JCS_YCCK}) {
    expect_colour(four_channels({255, 255, 255, 255}, space, true), {255, 255, 255});
    expect_colour(four_channels({255, 255, 255, 0}, space, true), {0, 0, 0});
    expect_colour(four_channels({255, 0, 0, 255}, space, true), {255, 0, 0});
    expect_colour(four_channels({200, 100, 50, 128}, space, true), {100, 50, 25});
  }
}

TEST(Jpeg, CmykWithoutAdobesMarkerIsInkAsItIs) {
  expect_colour(four_channels({0, 0, 0, 0}, JCS_CMYK, false), {255, 255, 255});
  expect_colour(four_channels({0, 0, 0, 255}, JCS_CMYK, false), {0, 0, 0});
  expect_colour(four_channels({0, 255, 255, 0}, JCS_CMYK, false), {255, 0, 0});
}

TEST(Jpeg, AProgressiveFileWithoutItsLastScansIsCutOff) {
  Image image(32, 32, 1);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<std::uint8_t>(i * i / 7);
  }
  jpeg_compress_struct codec{};
  jpeg_error_mgr errors{};
  codec.err = jpeg_std_error(&errors);
  jpeg_create_compress(&codec);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&codec, &bytes, &size);
  codec.image_width = codec.image_height = 32;
  codec.input_components = 1;
  codec.in_color_space = JCS_GRAYSCALE;
  jpeg_set_defaults(&codec);
  jpeg_simple_progression(&codec);
  jpeg_start_compress(&codec, TRUE);
  for (int y = 0; y < 32; ++y) {
    JSAMPROW row = image.row(y);
    jpeg_write_scanlines(&codec, &row, 1);
  }
  jpeg_finish_compress(&codec);
  const std::string file(reinterpret_cast<char*>(bytes), size);
  jpeg_destroy_compress(&codec);
  ::free(bytes);

  EXPECT_EQ(decode_jpeg(file, 1, "x").height, 32);
  const auto last_scan = file.rfind("\xff\xda");
  EXPECT_ERROR(decode_jpeg(file.substr(0, last_scan), 1, "x"),
               "x: the JPEG picture is damaged or cut off");
  EXPECT_ERROR(decode_jpeg(file.substr(0, last_scan + 20), 1, "x"), "damaged or cut off");
}

}  // namespace
}  // namespace toroid
