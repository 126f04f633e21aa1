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

/// A reader, from creation to destruction.
struct Decoder {
  explicit Decoder(std::string_view bytes) : state{nullptr, nullptr, bytes, {}} {
    state.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning);
    state.info = state.png != nullptr ? png_create_info_struct(state.png) : nullptr;
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { png_destroy_read_struct(&state.png, &state.info, nullptr); }

  PngState state;
};

[[noreturn]] void fail_damaged(const Decoder& d, std::string_view where) {
  fail("{}: the PNG picture is damaged or cut off ({}); replace or remove it", where,
       d.state.message);
}

/// Reads the header, and refuses a picture that is too large.
ImageSize open_picture(Decoder& d, std::string_view where) {
  if (d.state.info == nullptr) fail("{}: libpng cannot start: {}", where, d.state.message);
  if (!read_header(d.state)) fail_damaged(d, where);
  const png_uint_32 width = png_get_image_width(d.state.png, d.state.info);
  const png_uint_32 height = png_get_image_height(d.state.png, d.state.info);
  if (std::int64_t{width} * height > kMaximumPixels) {
    fail("{}: the picture claims {} x {} pixels, above the limit of {}; make it smaller", where,
         width, height, kMaximumPixels);
  }
  return {static_cast<int>(height), static_cast<int>(width)};
}

}  // namespace

Image decode_png(std::string_view bytes, std::string_view where) {
  Decoder d(bytes);
  const ImageSize size = open_picture(d, where);
  if (!update_layout(d.state)) fail_damaged(d, where);
  Image image(size.height, size.width, png_get_channels(d.state.png, d.state.info));
  std::vector<png_bytep> rows(static_cast<std::size_t>(size.height));
  for (int y = 0; y < size.height; ++y) rows[static_cast<std::size_t>(y)] = image.row(y);
  if (!read_rows(d.state, rows.data())) fail_damaged(d, where);
  return image;
}

ImageSize png_size(std::string_view bytes, std::string_view where) {
  Decoder d(bytes);
  return open_picture(d, where);
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
