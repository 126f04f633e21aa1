// Resizing and cropping of 8-bit pictures.
#pragma once

#include "toroid/data/image.h"

namespace toroid {

/// Resizes with a triangle filter whose width grows with the reduction (antialiased), half-pixel
/// centres, in 22-bit fixed point, rows first with 8-bit rows between: Pillow's
/// Image.resize(..., BILINEAR), bit for bit.
Image resize(const Image& image, int height, int width);

/// The height x width window around the centre; an odd remainder goes to the bottom and right.
/// Error unless the image is at least that large.
Image center_crop(const Image& image, int height, int width);

/// How every picture becomes a size x size square, in `prepare --size` and in the loader: the
/// shorter side is resized to `size` (the longer one in proportion, rounded down), then the centre
/// is cropped. A picture that already has that size is returned as it is.
Image fit_to_square(Image image, int size);

}  // namespace toroid
