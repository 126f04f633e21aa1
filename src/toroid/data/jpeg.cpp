#include "toroid/data/jpeg.h"

#include <setjmp.h>
#include <stdio.h>

// libjpeg's header needs stdio.h before it.
#include <jerror.h>
#include <jpeglib.h>

#include <cstdlib>
#include <cstring>

#include "toroid/base/error.h"

namespace toroid {
namespace {

/// libjpeg reports errors by a callback that must not return. It jumps back to the function that
/// called libjpeg, which has only trivial locals, so nothing is skipped that should be destroyed;
/// that function returns false and its caller throws.
struct ErrorState {
  jpeg_error_mgr manager;  // first, so that a pointer to it is a pointer to this
  jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

ErrorState& state_of(j_common_ptr codec) {
  return *reinterpret_cast<ErrorState*>(codec->err);
}

[[noreturn]] void on_error(j_common_ptr codec) {
  ErrorState& state = state_of(codec);
  codec->err->format_message(codec, state.message);
  longjmp(state.jump, 1);
}

/// Warnings that mean missing or wrong pixels become errors; the others (junk between segments, an
/// odd version number) are dropped.
void on_message(j_common_ptr codec, int level) {
  if (level >= 0) return;
  const int code = codec->err->msg_code;
  if (code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_MUST_RESYNC) {
    on_error(codec);
  }
}

jpeg_error_mgr* prepare_errors(ErrorState& state) {
  jpeg_std_error(&state.manager);
  state.manager.error_exit = on_error;
  state.manager.emit_message = on_message;
  state.message[0] = '\0';
  return &state.manager;
}

/// A source over memory. Past the end it serves end-of-image markers: the decoder reads ahead, so
/// running out of bytes alone is no fault; bits that are really missing raise JWRN_HIT_MARKER.
struct MemorySource {
  jpeg_source_mgr manager;  // first, as above
  bool ran_out;
};

void source_nothing(j_decompress_ptr) {}

boolean source_fill(j_decompress_ptr codec) {
  static const JOCTET end_of_image[2] = {0xff, JPEG_EOI};
  reinterpret_cast<MemorySource*>(codec->src)->ran_out = true;
  codec->src->next_input_byte = end_of_image;
  codec->src->bytes_in_buffer = 2;
  return TRUE;
}

void source_skip(j_decompress_ptr codec, long count) {
  if (count <= 0) return;
  const auto skipped = static_cast<std::size_t>(count);
  if (skipped >= codec->src->bytes_in_buffer) {
    source_fill(codec);
    return;
  }
  codec->src->next_input_byte += skipped;
  codec->src->bytes_in_buffer -= skipped;
}

/// ink * black / 255, rounded; both 255 = no ink.
std::uint8_t shade(unsigned ink, unsigned black) {
  return static_cast<std::uint8_t>((ink * black + 127) / 255);
}

/// One row of CMYK to RGB. `inverted`: 255 means no ink, which is what Adobe's marker tells.
void cmyk_to_rgb(const std::uint8_t* from, std::uint8_t* to, int width, bool inverted) {
  const unsigned flip = inverted ? 0 : 255;
  for (int x = 0; x < width; ++x, from += 4, to += 3) {
    const unsigned black = from[3] ^ flip;
    for (int c = 0; c < 3; ++c) to[c] = shade(from[c] ^ flip, black);
  }
}

/// A decompressor, from creation to destruction.
struct Decoder {
  Decoder() { codec.err = prepare_errors(errors); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;
  ~Decoder() { jpeg_destroy_decompress(&codec); }

  jpeg_decompress_struct codec{};
  ErrorState errors{};
  MemorySource source{};
};

/// False on an error.
bool read_header(Decoder& d, std::string_view bytes) {
  if (setjmp(d.errors.jump) != 0) return false;
  jpeg_create_decompress(&d.codec);
  d.source.manager.init_source = source_nothing;
  d.source.manager.fill_input_buffer = source_fill;
  d.source.manager.skip_input_data = source_skip;
  d.source.manager.resync_to_restart = jpeg_resync_to_restart;
  d.source.manager.term_source = source_nothing;
  d.source.manager.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
  d.source.manager.bytes_in_buffer = bytes.size();
  d.codec.src = &d.source.manager;
  jpeg_read_header(&d.codec, TRUE);
  return true;
}

/// Decides the output; false on an error.
bool start(Decoder& d, int channels) {
  if (setjmp(d.errors.jump) != 0) return false;
  const bool luma_stored =
      d.codec.jpeg_color_space == JCS_GRAYSCALE || d.codec.jpeg_color_space == JCS_YCbCr;
  if (d.codec.num_components == 4) {
    d.codec.out_color_space = JCS_CMYK;
  } else if (d.codec.jpeg_color_space == JCS_GRAYSCALE || (channels == 1 && luma_stored)) {
    d.codec.out_color_space = JCS_GRAYSCALE;
  } else {
    d.codec.out_color_space = JCS_RGB;
  }
  jpeg_start_decompress(&d.codec);
  return true;
}

/// Decodes all rows into `image`; `cmyk_row` has room for one row of four channels. False on an
/// error.
bool read_rows(Decoder& d, Image& image, std::uint8_t* cmyk_row) {
  if (setjmp(d.errors.jump) != 0) return false;
  while (d.codec.output_scanline < d.codec.output_height) {
    std::uint8_t* target = image.row(static_cast<int>(d.codec.output_scanline));
    std::uint8_t* row = cmyk_row != nullptr ? cmyk_row : target;
    jpeg_read_scanlines(&d.codec, &row, 1);
    if (cmyk_row != nullptr) {
      cmyk_to_rgb(cmyk_row, target, image.width, d.codec.saw_Adobe_marker != FALSE);
    }
  }
  return true;
}

struct Encoder {
  jpeg_compress_struct codec;
  ErrorState errors;
  unsigned char* bytes;
  unsigned long size;
};

bool write_rows(Encoder& e, const Image& image, int quality) {
  if (setjmp(e.errors.jump) != 0) return false;
  jpeg_create_compress(&e.codec);
  jpeg_mem_dest(&e.codec, &e.bytes, &e.size);
  e.codec.image_width = static_cast<JDIMENSION>(image.width);
  e.codec.image_height = static_cast<JDIMENSION>(image.height);
  e.codec.input_components = image.channels;
  e.codec.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&e.codec);
  jpeg_set_quality(&e.codec, quality, TRUE);
  jpeg_start_compress(&e.codec, TRUE);
  while (e.codec.next_scanline < e.codec.image_height) {
    auto* row = const_cast<JSAMPLE*>(image.row(static_cast<int>(e.codec.next_scanline)));
    jpeg_write_scanlines(&e.codec, &row, 1);
  }
  jpeg_finish_compress(&e.codec);
  return true;
}

[[noreturn]] void fail_damaged(std::string_view where, const char* reason) {
  fail("{}: the JPEG picture is damaged or cut off ({}); replace or remove it", where, reason);
}

/// Reads the header, and refuses a picture that is too large.
void open_picture(Decoder& d, std::string_view bytes, std::string_view where) {
  if (!read_header(d, bytes)) fail_damaged(where, d.errors.message);
  if (std::int64_t{d.codec.image_width} * d.codec.image_height > kMaximumPixels) {
    fail("{}: the picture claims {} x {} pixels, above the limit of {}; make it smaller", where,
         d.codec.image_width, d.codec.image_height, kMaximumPixels);
  }
}

}  // namespace

Image decode_jpeg(std::string_view bytes, int channels, std::string_view where) {
  Decoder d;
  open_picture(d, bytes, where);
  if (!start(d, channels)) fail_damaged(where, d.errors.message);
  // The scans of a progressive file are read before the first row; a missing one is no missing bit.
  if (d.source.ran_out && jpeg_has_multiple_scans(&d.codec)) {
    fail_damaged(where, "the file ends before its last scan");
  }
  const bool cmyk = d.codec.num_components == 4;
  Image image(static_cast<int>(d.codec.output_height), static_cast<int>(d.codec.output_width),
              cmyk ? 3 : d.codec.output_components);
  std::vector<std::uint8_t> cmyk_row(cmyk ? 4 * static_cast<std::size_t>(image.width) : 0);
  if (!read_rows(d, image, cmyk ? cmyk_row.data() : nullptr)) {
    fail_damaged(where, d.errors.message);
  }
  return image;
}

ImageSize jpeg_size(std::string_view bytes, std::string_view where) {
  Decoder d;
  open_picture(d, bytes, where);
  return {static_cast<int>(d.codec.image_height), static_cast<int>(d.codec.image_width)};
}

std::string encode_jpeg(const Image& image, int quality) {
  if (quality < 1 || quality > 100) fail_usage("JPEG quality is 1 to 100, not {}", quality);
  Encoder e{};
  e.codec.err = prepare_errors(e.errors);
  struct Cleanup {
    Encoder& e;
    ~Cleanup() {
      jpeg_destroy_compress(&e.codec);
      std::free(e.bytes);
    }
  } cleanup{e};
  if (!write_rows(e, image, quality)) {
    fail("cannot encode a picture of {} x {} pixels as JPEG: {}", image.width, image.height,
         e.errors.message);
  }
  return {reinterpret_cast<const char*>(e.bytes), e.size};
}

}  // namespace toroid
