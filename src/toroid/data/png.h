// PNG by libpng: what the functions of image.h use.
#pragma once

#include <string_view>

#include "toroid/data/image.h"

namespace toroid {

/// Decodes a PNG file: grey files give one channel, others three.
Image decode_png(std::string_view bytes, std::string_view where);

/// From the header.
ImageSize png_size(std::string_view bytes, std::string_view where);

}  // namespace toroid
