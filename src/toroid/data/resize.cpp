#include "toroid/data/resize.h"

#include <algorithm>
#include <cmath>

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
  return static_cast<std::uint8_t>(std::min(sum >> kFractionBits, 255));  // weights are positive
}

/// Rows that are mixed together: the loop over them is the one that vectorises, as neighbouring
/// outputs have different weights.
constexpr int kRows = 16;

/// `rows` <= kRows rows of `image` from `y` on, into those of `result`; `side_by_side` has room for
/// kRows rows of bytes.
TOROID_CLONES void mix_rows(const Image& image, Image& result, int y, int rows, const Mix& mix,
                            std::uint8_t* side_by_side) {
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::uint8_t* from[kRows];
  for (int r = 0; r < kRows; ++r) from[r] = image.row(y + std::min(r, rows - 1));
  for (std::size_t i = 0; i < image.row_bytes(); ++i) {
    for (int r = 0; r < kRows; ++r) side_by_side[i * kRows + r] = from[r][i];
  }
  for (std::size_t x = 0; x < mix.first.size(); ++x) {
    const std::int32_t* weights = mix.weights.data() + mix.begin[x];
    const int count = mix.count(x);
    for (std::size_t c = 0; c < channels; ++c) {
      const std::uint8_t* column =
          side_by_side + (static_cast<std::size_t>(mix.first[x]) * channels + c) * kRows;
      std::int32_t sums[kRows];
      for (int r = 0; r < kRows; ++r) sums[r] = kHalf;
      for (int i = 0; i < count; ++i, column += channels * kRows) {
        for (int r = 0; r < kRows; ++r) sums[r] += weights[i] * column[r];
      }
      std::uint8_t pixels[kRows];
      for (int r = 0; r < kRows; ++r) pixels[r] = to_pixel(sums[r]);
      std::uint8_t* to = result.row(y) + x * channels + c;
      for (int r = 0; r < rows; ++r, to += result.row_bytes()) *to = pixels[r];
    }
  }
}

Image resize_rows(const Image& image, int width) {
  Image result(image.height, width, image.channels);
  const Mix mix = make_mix(image.width, width);
  std::vector<std::uint8_t> side_by_side(image.row_bytes() * kRows);
  for (int y = 0; y < image.height; y += kRows) {
    mix_rows(image, result, y, std::min(kRows, image.height - y), mix, side_by_side.data());
  }
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
