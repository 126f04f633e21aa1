// The transformations of data.augment and data.evaluate, as a recipe states them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace toroid {

struct Interval {
  double low = 0, high = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// One transformation, by name. The first three make a square of `size` (0: the image size that
/// plan_steps is given) by resizing a window; `resize` of resize.h says how.
///   resize               the whole picture, its aspect ratio lost
///   centre_crop          the square around the centre, `fraction` of the shorter side
///   random_resized_crop  a window at a uniform place whose share of the picture is uniform in
///                        `area` and whose width / height is log-uniform in `aspect`, rounded;
///                        after ten draws that do not fit, the largest window around the centre
///                        within `aspect` (torchvision's RandomResizedCrop; Szegedy et al., "Going
///                        Deeper with Convolutions", 2015, 6)
///   random_crop          with `padding` black pixels on each side, a window of size x size (0: the
///                        size it has) at a uniform place (He et al., "Deep Residual Learning",
///                        2016, 4.2)
///   flip_horizontal      mirrored left to right with probability 1/2
///   flip_vertical        upside down with probability 1/2
struct Augmentation {
  std::string name;
  int size = 0;
  double fraction = 1;
  Interval area = {0.08, 1};
  Interval aspect = {3.0 / 4, 4.0 / 3};
  int padding = 4;
  friend bool operator==(const Augmentation&, const Augmentation&) = default;
};

/// The names above, sorted.
const std::vector<std::string>& augmentation_names();

using ParameterValue = std::variant<std::int64_t, double, std::vector<double>>;

/// The parameters that the named transformation has, with their values.
std::vector<std::pair<std::string, ParameterValue>> parameters(const Augmentation& augmentation);

/// Error (wrong usage) naming the transformation, what it has instead or what was expected.
void set_parameter(Augmentation& augmentation, const std::string& name,
                   const ParameterValue& value);

/// Error (wrong usage) when a name is unknown, listing the known ones; when one comes twice, since
/// both would draw the same; when a parameter is out of its range.
void check_augmentations(const std::vector<Augmentation>& augmentations);

/// The list itself where one of its transformations makes a size; else with `sizing` before it.
std::vector<Augmentation> with_sizing(const Augmentation& sizing,
                                      std::vector<Augmentation> augmentations);

/// Whether it makes a square of `size`.
bool makes_size(const Augmentation& augmentation);

/// The text of the error of a random_crop that is larger than what it gets.
std::string too_large(const Augmentation& crop, int height, int width);

/// Error (wrong usage) when the list of with_sizing leaves pictures that are not image_size x
/// image_size, or a random_crop is larger than what it gets. Both name data.augment.
void check_sizes(const std::vector<Augmentation>& augmentations, int image_size);

}  // namespace toroid
