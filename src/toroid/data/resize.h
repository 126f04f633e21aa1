// Resizing and cropping of 8-bit pictures.
#pragma once

#include "toroid/data/image.h"

namespace toroid {

/// Resizes with a triangle filter whose width grows with the reduction (antialiased), half-pixel
/// centres, in 22-bit fixed point, rows first with 8-bit rows between: Pillow's
/// Image.resize(..., BILINEAR), bit for bit.
Image resize(const Image& image, int height, int width);

/// The pixels of a window, which may reach beyond the picture: what lies outside is black.
Image crop(const Image& image, const CropWindow& window);

/// The square around the centre whose side is `fraction` (in (0, 1]) of the shorter one, rounded,
/// at least 1; where the rest is odd, one pixel more is left out at the bottom or right.
CropWindow centre_square(const ImageSize& size, double fraction);

/// How `prepare --size` makes a picture square: the window centre_square(., 1) is cropped and
/// resized to size x size. A picture that has that size already is returned as it is.
Image fit_to_square(const Image& image, int size);

}  // namespace toroid
