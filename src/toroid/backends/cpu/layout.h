// Where the elements of a tensor lie in memory.
#pragma once

#include <cstdint>
#include <string_view>

#include "toroid/base/tensor.h"

namespace toroid::cpu {

/// Convolutions are fastest when the channels come in blocks of one vector register, so that is how
/// activations and kernels are kept between the nodes of a graph, and kernels between steps.
/// oneDNN's name of each layout, over its own order of dimensions, is in brackets.
enum class Layout : std::uint8_t {
  kRowMajor,   ///< as the type says: activations [N,H,W,C] (nhwc), kernels [kh,kw,I,O] (hwio)
  kPlanar,     ///< activations [N,C,H,W] (nchw): pictures of few channels
  kBlocked8,   ///< activations [N,C/8,H,W,8] (nChw8c)
  kBlocked16,  ///< activations [N,C/16,H,W,16] (nChw16c)
  kKernel8,    ///< kernels [O/8,I/8,kh,kw,8 of I,8 of O] (OIhw8i8o)
  kKernel16,   ///< kernels [O/16,I/16,kh,kw,16 of I,16 of O] (OIhw16i16o)
};

/// "row-major", "blocked16", ...
std::string_view name_of(Layout layout);

/// The channels of a block; 1 where there are none.
std::int64_t block_of(Layout layout);

/// Whether a tensor of this type can lie so: rank 4, and no block left incomplete.
bool fits(const TensorType& type, Layout layout);

/// The layout of kernels with this block (0: none) that fits the type, else row-major.
Layout kernel_layout(const TensorType& type, std::int64_t block);

/// An activation [N,...,C] of any layout as rows of neighbouring channels:
///   element (n, channel, pixel) is at ((n * blocks + channel / width) * pixels + pixel) * width
///   + channel % width.
/// Row-major activations have one block of all channels, planar ones a block for each.
struct Planes {
  std::int64_t examples, blocks, pixels, width;

  Planes(const Shape& x, Layout layout);

  std::int64_t channels() const { return blocks * width; }
  std::int64_t at(std::int64_t example, std::int64_t block, std::int64_t pixel) const {
    return ((example * blocks + block) * pixels + pixel) * width;
  }
};

}  // namespace toroid::cpu
