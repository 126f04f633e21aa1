#include "toroid/data/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "toroid/base/clones.h"
#include "toroid/base/error.h"

namespace toroid {
namespace {

constexpr int kFractionBits = 22;  // 8-bit pixels times weights that sum to 1 stay below 2^31
constexpr std::int32_t kHalf = 1 << (kFractionBits - 1);

/// Which inputs each output pixel mixes along one axis: those from `first` on, as many as there are
/// fixed-point weights between two `begin`s.
struct Mix {
  std::vector<int> first;
  std::vector<std::size_t> begin;  ///< of each output's weights; then the end
  std::vector<std::int32_t> weights;

  int count(std::size_t out) const { return static_cast<int>(begin[out + 1] - begin[out]); }
};

Mix make_mix(int in, int out) {
  const double scale = static_cast<double>(in) / out;
  const double support = std::max(scale, 1.0);  // of a triangle with base 2, widened
  Mix mix;
  mix.begin.push_back(0);
  std::vector<double> weights;
  for (int x = 0; x < out; ++x) {
    const double center = (x + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(center - support + 0.5));
    const int last = std::min(in, static_cast<int>(center + support + 0.5));
    weights.clear();
    double sum = 0;
    for (int i = first; i < last; ++i) {
      const double distance = std::abs((i - center + 0.5) / support);
      weights.push_back(std::max(0.0, 1.0 - distance));
      sum += weights.back();
    }
    mix.first.push_back(first);
    for (const double weight : weights) {
      mix.weights.push_back(static_cast<std::int32_t>(0.5 + weight / sum * (1 << kFractionBits)));
    }
    mix.begin.push_back(mix.weights.size());
  }
  return mix;
}

TOROID_INLINE std::uint8_t to_pixel(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

/// Four bytes and their sums: one RGB pixel and a byte that is thrown away.
using Bytes4 = std::uint8_t __attribute__((vector_size(4)));
using Sums4 = std::int32_t __attribute__((vector_size(16)));

/// One row of RGB; a byte behind its last pixel is read.
TOROID_CLONES void mix_rgb_row(const std::uint8_t* from, std::uint8_t* to, const Mix& mix) {
  for (std::size_t x = 0; x < mix.first.size(); ++x) {
    const std::uint8_t* pixel = from + std::ptrdiff_t{3} * mix.first[x];
    const std::int32_t* weight = mix.weights.data() + mix.begin[x];
    Sums4 sum = {kHalf, kHalf, kHalf, kHalf};
    for (int i = mix.count(x); i > 0; --i, pixel += 3, ++weight) {
      Bytes4 bytes;
      std::memcpy(&bytes, pixel, sizeof(bytes));
      sum += __builtin_convertvector(bytes, Sums4) * *weight;
    }
    for (int c = 0; c < 3; ++c) *to++ = to_pixel(sum[c]);
  }
}

TOROID_CLONES void mix_grey_row(const std::uint8_t* from, std::uint8_t* to, const Mix& mix) {
  for (std::size_t x = 0; x < mix.first.size(); ++x) {
    const std::uint8_t* pixel = from + mix.first[x];
    const std::int32_t* weight = mix.weights.data() + mix.begin[x];
    std::int32_t sum = kHalf;
    for (int i = 0; i < mix.count(x); ++i) sum += weight[i] * pixel[i];
    *to++ = to_pixel(sum);
  }
}

Image resize_rows(const Image& image, int width) {
  Image result(image.height, width, image.channels);
  const Mix mix = make_mix(image.width, width);
  if (image.channels == 1) {
    for (int y = 0; y < image.height; ++y) mix_grey_row(image.row(y), result.row(y), mix);
    return result;
  }
  for (int y = 0; y + 1 < image.height; ++y) mix_rgb_row(image.row(y), result.row(y), mix);
  // Behind the last row there is no byte to read.
  std::vector<std::uint8_t> last(image.row_bytes() + 1);
  std::copy_n(image.row(image.height - 1), image.row_bytes(), last.begin());
  mix_rgb_row(last.data(), result.row(image.height - 1), mix);
  return result;
}

/// to = the weighted sum of `count` rows of `length` bytes.
TOROID_CLONES void mix_columns(const std::uint8_t* rows, std::size_t length,
                               const std::int32_t* weights, int count, std::uint8_t* to) {
  constexpr std::size_t kBlock = 128;  // sums that stay in registers and the nearest cache
  for (std::size_t begin = 0; begin < length; begin += kBlock) {
    const std::size_t size = std::min(kBlock, length - begin);
    std::int32_t sums[kBlock];
    std::fill_n(sums, size, kHalf);
    for (int i = 0; i < count; ++i) {
      const std::uint8_t* from = rows + static_cast<std::size_t>(i) * length + begin;
      for (std::size_t x = 0; x < size; ++x) sums[x] += weights[i] * from[x];
    }
    for (std::size_t x = 0; x < size; ++x) to[begin + x] = to_pixel(sums[x]);
  }
}

Image resize_columns(const Image& image, int height) {
  Image result(height, image.width, image.channels);
  const Mix mix = make_mix(image.height, height);
  for (int y = 0; y < height; ++y) {
    const auto out = static_cast<std::size_t>(y);
    mix_columns(image.row(mix.first[out]), image.row_bytes(), mix.weights.data() + mix.begin[out],
                mix.count(out), result.row(y));
  }
  return result;
}

}  // namespace

Image resize(const Image& image, int height, int width) {
  if (height < 1 || width < 1 || image.height < 1 || image.width < 1) {
    fail("cannot resize a picture of {} x {} to {} x {} pixels", image.width, image.height, width,
         height);
  }
  if (width == image.width) return height == image.height ? image : resize_columns(image, height);
  Image rows = resize_rows(image, width);
  return height == image.height ? rows : resize_columns(rows, height);
}

Image crop(const Image& image, const CropWindow& window) {
  Image result(window.height, window.width, image.channels);
  const int left = std::max(window.left, 0);
  const int right = std::min(window.left + window.width, image.width);
  if (left >= right) return result;
  const int bottom = std::min(window.top + window.height, image.height);
  for (int y = std::max(window.top, 0); y < bottom; ++y) {
    std::copy(image.row(y) + left * image.channels, image.row(y) + right * image.channels,
              result.row(y - window.top) + (left - window.left) * image.channels);
  }
  return result;
}

CropWindow centre_square(const ImageSize& size, double fraction) {
  const int shorter = std::min(size.height, size.width);
  const int side = std::max(1, static_cast<int>(std::lround(fraction * shorter)));
  return {(size.height - side) / 2, (size.width - side) / 2, side, side};
}

Image fit_to_square(const Image& image, int size) {
  if (image.height == size && image.width == size) return image;
  return resize(crop(image, centre_square({image.height, image.width}, 1)), size, size);
}

}  // namespace toroid
