// Random changes of training pictures. Each is a pure function of (seed, its name, epoch, example
// id), so an example gets the same draw on any thread, rank or world size, and a new one in each
// epoch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "toroid/data/image.h"

namespace toroid {

/// One step of augmentation, by name:
///   flip_horizontal   mirrored left to right with probability 1/2
///   random_crop       padded by `padding` black pixels on each side, then a window of the old size
///                     at a uniform offset (He et al., "Deep Residual Learning", 2016, 4.2)
struct Augmentation {
  std::string name;
  int padding = 4;  ///< random_crop only
};

/// The names above.
const std::vector<std::string>& augmentation_names();

/// Error (wrong usage) when a name is unknown, listing the known ones; when one comes twice, since
/// both would draw the same; when a padding is negative.
void check_augmentations(const std::vector<Augmentation>& augmentations);

/// Applies the checked list in order. The size stays.
Image augment(Image image, const std::vector<Augmentation>& augmentations, std::uint64_t seed,
              std::uint32_t epoch, std::uint32_t example_id);

}  // namespace toroid
