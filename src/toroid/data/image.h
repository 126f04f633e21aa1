// Decoded pictures, and decoding and encoding them. The kind of a picture is decided by its first
// bytes, never by a file's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace toroid {

/// A picture in memory: height x width x channels bytes, row-major (HWC). One channel is grey,
/// three are red, green, blue.
struct Image {
  int height = 0;
  int width = 0;
  int channels = 0;
  std::vector<std::uint8_t> pixels;

  Image() = default;
  /// All pixels zero (black).
  Image(int image_height, int image_width, int image_channels)
      : height(image_height),
        width(image_width),
        channels(image_channels),
        pixels(static_cast<std::size_t>(image_height) * static_cast<std::size_t>(image_width) *
               static_cast<std::size_t>(image_channels)) {}

  std::size_t row_bytes() const {
    return static_cast<std::size_t>(width) * static_cast<std::size_t>(channels);
  }
  std::uint8_t* row(int y) { return pixels.data() + static_cast<std::size_t>(y) * row_bytes(); }
  const std::uint8_t* row(int y) const {
    return pixels.data() + static_cast<std::size_t>(y) * row_bytes();
  }
  friend bool operator==(const Image&, const Image&) = default;
};

/// In pixels.
struct ImageSize {
  int height = 0;
  int width = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

/// A rectangle of a picture, in pixels from its upper left corner.
struct CropWindow {
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;

  static CropWindow whole(const ImageSize& size) { return {0, 0, size.height, size.width}; }
  ImageSize size() const { return {height, width}; }
  /// It is not empty, and no pixel of it is outside a picture of that size.
  bool lies_in(const ImageSize& picture) const {
    return top >= 0 && left >= 0 && height > 0 && width > 0 && top + height <= picture.height &&
           left + width <= picture.width;
  }
  friend bool operator==(const CropWindow&, const CropWindow&) = default;
};

/// The picture formats that are read and written.
enum class ImageFormat { kJpeg, kPng };

/// "jpeg" or "png": the value of image/format.
std::string_view name_of(ImageFormat format);

/// The format that the first bytes tell. Errors begin with `where` and name other kinds (GIF, BMP,
/// WebP, TIFF, HTML, ...), which are refused.
ImageFormat image_format(std::string_view bytes, std::string_view where);

/// A picture with more pixels than this is refused before memory is taken for it.
inline constexpr std::int64_t kMaximumPixels = std::int64_t{1} << 27;

/// Decodes a JPEG or PNG file to `channels` = 1 (grey) or 3 (RGB), or 0: as many as the file has.
///   * grey to RGB repeats the channel; RGB to grey is ITU-R 601 luma, as JPEG's own Y;
///   * JPEG with four channels (CMYK, YCCK): stored inverted when the file has an Adobe marker (as
///     Photoshop writes), as is without one; then each of R, G, B is ink * black / 255;
///   * 16-bit PNG is scaled to 8 bits (65535 -> 255); palettes are looked up;
///   * transparency is dropped: the colour under it is kept; so is EXIF orientation: pixels come as
///     they are stored. TensorFlow's decoders do the same.
/// A file that is cut off or damaged inside the picture is an Error, never a half-grey picture;
/// junk outside the picture is not. Errors begin with `where`.
Image decode_image(std::string_view bytes, int channels, std::string_view where);

/// The size that decode_image's picture will have, from the file's header alone. Errors as there;
/// damage behind the header stays unseen.
ImageSize stored_size(std::string_view bytes, std::string_view where);

/// The pixels of decode_image's picture inside the window, which must lie in the picture.
Image decode_window(std::string_view bytes, int channels, const CropWindow& window,
                    std::string_view where);

/// A JPEG file of 4:2:0 colour (or grey), `quality` 1 to 100.
std::string encode_jpeg(const Image& image, int quality);
/// A PNG file of 8-bit grey or RGB.
std::string encode_png(const Image& image);

}  // namespace toroid
