#include "toroid/data/augment.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "toroid/base/error.h"
#include "toroid/base/random.h"

namespace toroid {
namespace {

Image flip_horizontal(Image image, const Augmentation&, Random& random) {
  if (random.below(2) == 0) return image;
  for (int y = 0; y < image.height; ++y) {
    std::uint8_t* left = image.row(y);
    std::uint8_t* right = left + (image.width - 1) * image.channels;
    for (; left < right; left += image.channels, right -= image.channels) {
      std::swap_ranges(left, left + image.channels, right);
    }
  }
  return image;
}

Image random_crop(Image image, const Augmentation& settings, Random& random) {
  const int padding = settings.padding;
  const auto positions = static_cast<std::uint32_t>(2 * padding + 1);
  // How far the window lies right of and below the picture.
  const int down = static_cast<int>(random.below(positions)) - padding;
  const int right = static_cast<int>(random.below(positions)) - padding;
  Image result(image.height, image.width, image.channels);
  const int from = std::max(0, right);
  const int to = std::min(image.width, image.width + right);
  if (from >= to) return result;
  for (int y = std::max(0, -down); y < std::min(image.height, image.height - down); ++y) {
    std::copy(image.row(y + down) + from * image.channels,
              image.row(y + down) + to * image.channels,
              result.row(y) + (from - right) * image.channels);
  }
  return result;
}

struct Kind {
  const char* name;
  Image (*apply)(Image, const Augmentation&, Random&);
};

constexpr std::array kKinds = {
    Kind{"flip_horizontal", flip_horizontal},
    Kind{"random_crop", random_crop},
};

const Kind* find(const std::string& name) {
  const auto* found = std::find_if(kKinds.begin(), kKinds.end(),
                                   [&](const Kind& kind) { return name == kind.name; });
  return found == kKinds.end() ? nullptr : found;
}

}  // namespace

const std::vector<std::string>& augmentation_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    list.reserve(kKinds.size());
    for (const Kind& kind : kKinds) list.emplace_back(kind.name);
    return list;
  }();
  return names;
}

void check_augmentations(const std::vector<Augmentation>& augmentations) {
  for (std::size_t i = 0; i < augmentations.size(); ++i) {
    const Augmentation& one = augmentations[i];
    if (find(one.name) == nullptr) {
      fail_usage("augmentation \"{}\" is unknown; known are: {}", one.name,
                 fmt::join(augmentation_names(), ", "));
    }
    if (one.padding < 0 || one.padding > 1024) {
      fail_usage("augmentation \"{}\": padding {} is not in 0..1024", one.name, one.padding);
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (augmentations[j].name == one.name) {
        fail_usage("augmentation \"{}\" is listed twice; list it once", one.name);
      }
    }
  }
}

Image augment(Image image, const std::vector<Augmentation>& augmentations, std::uint64_t seed,
              std::uint32_t epoch, std::uint32_t example_id) {
  for (const Augmentation& one : augmentations) {
    const Kind* kind = find(one.name);
    if (kind == nullptr) fail("augmentation \"{}\" is unknown", one.name);
    Random random(seed, one.name, epoch, example_id);
    image = kind->apply(std::move(image), one, random);
  }
  return image;
}

}  // namespace toroid
