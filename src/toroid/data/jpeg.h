// JPEG by libjpeg-turbo: what the functions of image.h use.
#pragma once

#include <string_view>

#include "toroid/data/image.h"

namespace toroid {

/// Decodes a JPEG file. channels = 1 takes the luma that the file stores; otherwise grey files give
/// one channel and others three.
Image decode_jpeg(std::string_view bytes, int channels, std::string_view where);

/// From the header.
ImageSize jpeg_size(std::string_view bytes, std::string_view where);

}  // namespace toroid
