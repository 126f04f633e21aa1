// From a picture of any size to the square that a network is given. What is to be done with a
// picture follows from its size and from draws that are a pure function of (seed, transformation's
// name, epoch, example id), before a pixel is read; so an example gets the same on any thread, rank
// or world size, and something new in each epoch.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "toroid/data/augmentation.h"
#include "toroid/data/image.h"

namespace toroid {

/// What is done with a picture: `window` is cropped (black where it reaches beyond), resized to
/// `result`, and mirrored.
struct PictureStep {
  CropWindow window;
  ImageSize result;
  bool left_to_right = false;
  bool upside_down = false;
  friend bool operator==(const PictureStep&, const PictureStep&) = default;
};

/// Of which example, and when.
struct DrawKey {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;
  std::uint32_t example_id = 0;
};

/// A step for each of the transformations, for a picture of that size. Error beginning with `where`
/// when a random_crop is larger than what it gets.
std::vector<PictureStep> plan_steps(const std::vector<Augmentation>& augmentations, int image_size,
                                    ImageSize size, const DrawKey& key, std::string_view where);

Image apply_step(Image image, const PictureStep& step);

/// The picture in a JPEG or PNG file, transformed. A window that comes first is cut while the file
/// is decoded. Errors begin with `where`.
Image load_picture(std::string_view bytes, int channels,
                   const std::vector<Augmentation>& augmentations, int image_size,
                   const DrawKey& key, std::string_view where);

}  // namespace toroid
