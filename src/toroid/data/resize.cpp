#include "toroid/data/resize.h"

#include <algorithm>
#include <cmath>

#include "toroid/base/error.h"

namespace toroid {
namespace {

constexpr int kFractionBits = 22;  // 8-bit pixels times weights that sum to 1 stay below 2^31

/// The inputs that one output pixel mixes: `count` from `first` on, with fixed-point weights.
struct Window {
  int first = 0;
  std::vector<std::int32_t> weights;
};

std::vector<Window> windows(int in, int out) {
  const double scale = static_cast<double>(in) / out;
  const double support = std::max(scale, 1.0);  // of a triangle with base 2, widened
  std::vector<Window> result(static_cast<std::size_t>(out));
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
    Window& window = result[static_cast<std::size_t>(x)];
    window.first = first;
    for (const double weight : weights) {
      window.weights.push_back(
          static_cast<std::int32_t>(0.5 + weight / sum * (1 << kFractionBits)));
    }
  }
  return result;
}

std::uint8_t to_pixel(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

constexpr std::int32_t kHalf = 1 << (kFractionBits - 1);

Image resize_rows(const Image& image, int width) {
  Image result(image.height, width, image.channels);
  const auto mix = windows(image.width, width);
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* from = image.row(y);
    std::uint8_t* to = result.row(y);
    for (const Window& window : mix) {
      for (int c = 0; c < image.channels; ++c) {
        std::int32_t sum = kHalf;
        const std::uint8_t* pixel = from + window.first * image.channels + c;
        for (const std::int32_t weight : window.weights) {
          sum += weight * *pixel;
          pixel += image.channels;
        }
        *to++ = to_pixel(sum);
      }
    }
  }
  return result;
}

Image resize_columns(const Image& image, int height) {
  Image result(height, image.width, image.channels);
  const auto mix = windows(image.height, height);
  std::vector<std::int32_t> sums(image.row_bytes());
  for (int y = 0; y < height; ++y) {
    std::fill(sums.begin(), sums.end(), kHalf);
    const Window& window = mix[static_cast<std::size_t>(y)];
    for (std::size_t i = 0; i < window.weights.size(); ++i) {
      const std::uint8_t* from = image.row(window.first + static_cast<int>(i));
      for (std::size_t x = 0; x < sums.size(); ++x) sums[x] += window.weights[i] * from[x];
    }
    std::transform(sums.begin(), sums.end(), result.row(y), to_pixel);
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

Image center_crop(const Image& image, int height, int width) {
  if (height > image.height || width > image.width) {
    fail("cannot crop {} x {} pixels from a picture of {} x {}", width, height, image.width,
         image.height);
  }
  Image result(height, width, image.channels);
  const int top = (image.height - height) / 2;
  const int left = (image.width - width) / 2;
  for (int y = 0; y < height; ++y) {
    std::copy_n(image.row(top + y) + left * image.channels, result.row_bytes(), result.row(y));
  }
  return result;
}

Image fit_to_square(Image image, int size) {
  if (image.height == size && image.width == size) return image;
  const std::int64_t shorter = std::min(image.height, image.width);
  const auto in_proportion = [&](std::int64_t side) {
    return static_cast<int>(side * size / shorter);
  };
  return center_crop(resize(image, in_proportion(image.height), in_proportion(image.width)), size,
                     size);
}

}  // namespace toroid
