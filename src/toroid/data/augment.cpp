#include "toroid/data/augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "toroid/base/error.h"
#include "toroid/base/random.h"
#include "toroid/data/resize.h"

namespace toroid {
namespace {

PictureStep untouched(ImageSize size) {
  return {CropWindow::whole(size), size};
}

PictureStep resize_whole(const Augmentation&, ImageSize size, Random&) {
  return untouched(size);
}

PictureStep centre_crop(const Augmentation& settings, ImageSize size, Random&) {
  return {centre_square(size, settings.fraction)};
}

/// What random_resized_crop takes where nothing it drew fits.
CropWindow largest_window(const Interval& aspect, ImageSize size) {
  const double own = static_cast<double>(size.width) / size.height;
  CropWindow window = CropWindow::whole(size);
  if (own < aspect.low) {
    window.height = static_cast<int>(std::lround(size.width / aspect.low));
  } else if (own > aspect.high) {
    window.width = static_cast<int>(std::lround(size.height * aspect.high));
  }
  window.height = std::clamp(window.height, 1, size.height);
  window.width = std::clamp(window.width, 1, size.width);
  window.top = (size.height - window.height) / 2;
  window.left = (size.width - window.width) / 2;
  return window;
}

PictureStep random_resized_crop(const Augmentation& settings, ImageSize size, Random& random) {
  constexpr int kTries = 10;
  const double pixels = static_cast<double>(size.height) * size.width;
  const double low = std::log(settings.aspect.low), high = std::log(settings.aspect.high);
  for (int i = 0; i < kTries; ++i) {
    const double area = pixels * random.uniform(settings.area.low, settings.area.high);
    const double aspect = std::exp(random.uniform(low, high));
    const double width = std::round(std::sqrt(area * aspect));
    const double height = std::round(std::sqrt(area / aspect));
    if (width < 1 || height < 1 || width > size.width || height > size.height) continue;
    CropWindow window{0, 0, static_cast<int>(height), static_cast<int>(width)};
    window.top =
        static_cast<int>(random.below(static_cast<std::uint32_t>(size.height - window.height + 1)));
    window.left =
        static_cast<int>(random.below(static_cast<std::uint32_t>(size.width - window.width + 1)));
    return {window};
  }
  return {largest_window(settings.aspect, size)};
}

PictureStep random_crop(const Augmentation& settings, ImageSize size, Random& random) {
  const int height = settings.size > 0 ? settings.size : size.height;
  const int width = settings.size > 0 ? settings.size : size.width;
  const auto place = [&](int side, int taken) {
    const auto places = static_cast<std::uint32_t>(side + 2 * settings.padding - taken + 1);
    return static_cast<int>(random.below(places)) - settings.padding;
  };
  const int top = place(size.height, height);
  const int left = place(size.width, width);
  return {{top, left, height, width}, {height, width}};
}

PictureStep flip_horizontal(const Augmentation&, ImageSize size, Random& random) {
  PictureStep step = untouched(size);
  step.left_to_right = random.below(2) != 0;
  return step;
}

PictureStep flip_vertical(const Augmentation&, ImageSize size, Random& random) {
  PictureStep step = untouched(size);
  step.upside_down = random.below(2) != 0;
  return step;
}

using MakeStep = PictureStep (*)(const Augmentation&, ImageSize, Random&);

constexpr std::array<std::pair<std::string_view, MakeStep>, 6> kSteps = {{
    {"centre_crop", centre_crop},
    {"flip_horizontal", flip_horizontal},
    {"flip_vertical", flip_vertical},
    {"random_crop", random_crop},
    {"random_resized_crop", random_resized_crop},
    {"resize", resize_whole},
}};

MakeStep find_step(const std::string& name) {
  for (const auto& [known, make] : kSteps) {
    if (known == name) return make;
  }
  fail("augmentation \"{}\" is unknown", name);
}

void mirror_rows(Image& image) {
  for (int y = 0; y < image.height; ++y) {
    std::uint8_t* left = image.row(y);
    std::uint8_t* right = left + (image.width - 1) * image.channels;
    for (; left < right; left += image.channels, right -= image.channels) {
      std::swap_ranges(left, left + image.channels, right);
    }
  }
}

void turn_upside_down(Image& image) {
  for (int y = 0; y < image.height / 2; ++y) {
    std::swap_ranges(image.row(y), image.row(y) + image.row_bytes(),
                     image.row(image.height - 1 - y));
  }
}

}  // namespace

std::vector<PictureStep> plan_steps(const std::vector<Augmentation>& augmentations, int image_size,
                                    ImageSize size, const DrawKey& key, std::string_view where) {
  std::vector<PictureStep> steps;
  for (const Augmentation& one : augmentations) {
    Random random(key.seed, one.name, key.epoch, key.example_id);
    if (one.name == "random_crop" &&
        one.size > std::min(size.height, size.width) + 2 * one.padding) {
      fail_usage("{}: data.augment: {}", where, too_large(one, size.height, size.width));
    }
    PictureStep step = find_step(one.name)(one, size, random);
    if (makes_size(one)) {
      const int side = one.size > 0 ? one.size : image_size;
      step.result = {side, side};
    }
    size = step.result;
    steps.push_back(step);
  }
  return steps;
}

Image apply_step(Image image, const PictureStep& step) {
  if (step.window != CropWindow::whole({image.height, image.width})) {
    image = crop(image, step.window);
  }
  if (step.result != step.window.size()) {
    image = resize(image, step.result.height, step.result.width);
  }
  if (step.left_to_right) mirror_rows(image);
  if (step.upside_down) turn_upside_down(image);
  return image;
}

Image load_picture(std::string_view bytes, int channels,
                   const std::vector<Augmentation>& augmentations, int image_size,
                   const DrawKey& key, std::string_view where) {
  const ImageSize size = stored_size(bytes, where);
  std::vector<PictureStep> steps = plan_steps(augmentations, image_size, size, key, where);
  CropWindow decoded = CropWindow::whole(size);
  if (!steps.empty() && steps.front().window.lies_in(size)) {
    decoded = steps.front().window;
    steps.front().window = CropWindow::whole(decoded.size());
  }
  Image image = decode_window(bytes, channels, decoded, where);
  for (const PictureStep& step : steps) image = apply_step(std::move(image), step);
  return image;
}

}  // namespace toroid
