#include "toroid/data/image.h"

#include <algorithm>
#include <array>

#include "toroid/base/error.h"
#include "toroid/data/jpeg.h"
#include "toroid/data/png.h"
#include "toroid/data/resize.h"

namespace toroid {
namespace {

struct Magic {
  std::size_t offset;
  std::string_view bytes;
  const char* kind;
};

constexpr std::array kRefused = {
    Magic{0, "GIF8", "a GIF picture"},
    Magic{0, "BM", "a BMP picture"},
    Magic{8, "WEBP", "a WebP picture"},
    Magic{0, std::string_view("II*\0", 4), "a TIFF picture"},
    Magic{0, std::string_view("MM\0*", 4), "a TIFF picture"},
    Magic{4, "ftyp", "a HEIF or AVIF picture or a video"},
    Magic{0,
          std::string_view("\0\0\0\x01"
                           "Bud1",
                           8),
          "a macOS .DS_Store file"},
    Magic{0, std::string_view("\0\0\0\x0cjP  ", 8), "a JPEG 2000 picture"},
    Magic{0, "%PDF", "a PDF file"},
    Magic{0, "\x1f\x8b", "a gzip file"},
    Magic{0, "PK\x03\x04", "a zip file"},
};

bool has(std::string_view bytes, const Magic& magic) {
  return bytes.size() >= magic.offset &&
         bytes.substr(magic.offset, magic.bytes.size()) == magic.bytes;
}

/// What a text file is, or null when the bytes are no text.
const char* kind_of_text(std::string_view bytes) {
  const auto start = bytes.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  const std::string_view head = bytes.substr(0, 64);
  if (start == std::string_view::npos) return bytes.empty() ? "empty" : "blank text";
  if (bytes[start] == '<') return "an HTML, XML or SVG page";
  const bool text = std::all_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x20 || c == '\t' || c == '\r' || c == '\n';
  });
  return text ? "text" : nullptr;
}

Image to_grey(const Image& rgb) {
  Image grey(rgb.height, rgb.width, 1);
  for (std::size_t i = 0; i < grey.pixels.size(); ++i) {
    const std::uint8_t* p = rgb.pixels.data() + 3 * i;
    // 0.299, 0.587, 0.114 in 1/65536, rounded to nearest.
    grey.pixels[i] =
        static_cast<std::uint8_t>((19595U * p[0] + 38470U * p[1] + 7471U * p[2] + 32768U) >> 16);
  }
  return grey;
}

Image to_rgb(const Image& grey) {
  Image rgb(grey.height, grey.width, 3);
  for (std::size_t i = 0; i < grey.pixels.size(); ++i) {
    std::fill_n(rgb.pixels.begin() + static_cast<std::ptrdiff_t>(3 * i), 3, grey.pixels[i]);
  }
  return rgb;
}

}  // namespace

std::string_view name_of(ImageFormat format) {
  return format == ImageFormat::kJpeg ? "jpeg" : "png";
}

ImageFormat image_format(std::string_view bytes, std::string_view where) {
  if (bytes.starts_with("\xff\xd8\xff")) return ImageFormat::kJpeg;
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return ImageFormat::kPng;
  for (const Magic& magic : kRefused) {
    if (has(bytes, magic)) {
      fail("{}: is {}; only JPEG and PNG pictures are read, so convert or remove it", where,
           magic.kind);
    }
  }
  if (const char* kind = kind_of_text(bytes)) {
    fail("{}: is {}, no JPEG or PNG picture; remove it", where, kind);
  }
  fail("{}: is no JPEG or PNG picture (it begins with bytes {:02x} {:02x}); convert or remove it",
       where, static_cast<unsigned char>(bytes[0]),
       static_cast<unsigned char>(bytes.size() > 1 ? bytes[1] : 0));
}

Image decode_image(std::string_view bytes, int channels, std::string_view where) {
  if (channels != 0 && channels != 1 && channels != 3) {
    fail("{}: pictures are decoded to 1 (grey) or 3 (RGB) channels, not {}", where, channels);
  }
  Image image = image_format(bytes, where) == ImageFormat::kJpeg
                    ? decode_jpeg(bytes, channels, where)
                    : decode_png(bytes, where);
  if (channels == 1 && image.channels == 3) return to_grey(image);
  if (channels == 3 && image.channels == 1) return to_rgb(image);
  return image;
}

ImageSize stored_size(std::string_view bytes, std::string_view where) {
  return image_format(bytes, where) == ImageFormat::kJpeg ? jpeg_size(bytes, where)
                                                          : png_size(bytes, where);
}

Image decode_window(std::string_view bytes, int channels, const CropWindow& window,
                    std::string_view where) {
  Image image = decode_image(bytes, channels, where);
  const ImageSize size{image.height, image.width};
  if (window == CropWindow::whole(size)) return image;
  if (!window.lies_in(size)) {
    fail(
        "{}: the window of {} x {} pixels at column {}, row {} does not lie in a picture of {} x "
        "{}",
        where, window.width, window.height, window.left, window.top, size.width, size.height);
  }
  return crop(image, window);
}

}  // namespace toroid
