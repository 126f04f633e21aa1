#include "toroid/data/png.h"

#include <png.h>
#include <setjmp.h>

#include <cstring>

#include "toroid/base/error.h"

namespace toroid {
namespace {

/// Error text and, while decoding, what is left of the file. As with JPEG, libpng's errors jump
/// back to a function that has only trivial locals.
struct PngState {
  png_structp png;
  png_infop info;
  std::string_view left;
  char message[160];
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto& state = *static_cast<PngState*>(png_get_error_ptr(png));
  std::strncpy(state.message, message, sizeof(state.message) - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep out, std::size_t count) {
  auto& state = *static_cast<PngState*>(png_get_io_ptr(png));
  if (count > state.left.size()) png_error(png, "the file ends too early");
  std::memcpy(out, state.left.data(), count);
  state.left.remove_prefix(count);
}

/// Reads the header and asks for 8-bit grey or RGB; false on an error.
bool read_header(PngState& s) {
  if (setjmp(png_jmpbuf(s.png)) != 0) return false;
  // Sizes are checked by the caller; the default limit of a million per side would hide them.
  png_set_user_limits(s.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_read_fn(s.png, &s, read_bytes);
  png_read_info(s.png, s.info);
  png_set_scale_16(s.png);  // 16 bits to 8, rounded, so 65535 becomes 255
  png_set_expand_gray_1_2_4_to_8(s.png);
  if (png_get_color_type(s.png, s.info) == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(s.png);
  png_set_strip_alpha(s.png);
  return true;
}

bool read_rows(PngState& s, png_bytepp rows) {
  if (setjmp(png_jmpbuf(s.png)) != 0) return false;
  png_read_image(s.png, rows);
  return true;
}

/// Fixes the output's layout after the transformations; false on an error.
bool update_layout(PngState& s) {
  if (setjmp(png_jmpbuf(s.png)) != 0) return false;
  png_set_interlace_handling(s.png);
  png_read_update_info(s.png, s.info);
  return true;
}

void append_bytes(png_structp png, png_bytep bytes, std::size_t count) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<char*>(bytes), count);
}

void flush_nothing(png_structp) {}

bool write_picture(PngState& s, const Image& image, std::string& out) {
  if (setjmp(png_jmpbuf(s.png)) != 0) return false;
  png_set_write_fn(s.png, &out, append_bytes, flush_nothing);
  png_set_IHDR(s.png, s.info, static_cast<png_uint_32>(image.width),
               static_cast<png_uint_32>(image.height), 8,
               image.channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(s.png, s.info);
  for (int y = 0; y < image.height; ++y) png_write_row(s.png, image.row(y));
  png_write_end(s.png, s.info);
  return true;
}

}  // namespace

Image decode_png(std::string_view bytes, std::string_view where) {
  PngState s{nullptr, nullptr, bytes, {}};
  struct Cleanup {
    PngState& s;
    ~Cleanup() { png_destroy_read_struct(&s.png, &s.info, nullptr); }
  } cleanup{s};
  const auto fail_damaged = [&] {
    fail("{}: the PNG picture is damaged or cut off ({}); replace or remove it", where, s.message);
  };
  s.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &s, on_error, on_warning);
  s.info = s.png != nullptr ? png_create_info_struct(s.png) : nullptr;
  if (s.info == nullptr) fail("{}: libpng cannot start: {}", where, s.message);
  if (!read_header(s)) fail_damaged();
  const png_uint_32 width = png_get_image_width(s.png, s.info);
  const png_uint_32 height = png_get_image_height(s.png, s.info);
  if (std::int64_t{width} * height > kMaximumPixels) {
    fail("{}: the picture claims {} x {} pixels, above the limit of {}; make it smaller", where,
         width, height, kMaximumPixels);
  }
  if (!update_layout(s)) fail_damaged();
  Image image(static_cast<int>(height), static_cast<int>(width), png_get_channels(s.png, s.info));
  std::vector<png_bytep> rows(height);
  for (png_uint_32 y = 0; y < height; ++y) rows[y] = image.row(static_cast<int>(y));
  if (!read_rows(s, rows.data())) fail_damaged();
  return image;
}

std::string encode_png(const Image& image) {
  PngState s{};
  struct Cleanup {
    PngState& s;
    ~Cleanup() { png_destroy_write_struct(&s.png, &s.info); }
  } cleanup{s};
  std::string out;
  s.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &s, on_error, on_warning);
  s.info = s.png != nullptr ? png_create_info_struct(s.png) : nullptr;
  if (s.info == nullptr || !write_picture(s, image, out)) {
    fail("cannot encode a picture of {} x {} pixels as PNG: {}", image.width, image.height,
         s.message);
  }
  return out;
}

}  // namespace toroid
