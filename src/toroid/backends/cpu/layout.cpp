#include "toroid/backends/cpu/layout.h"

namespace toroid::cpu {

std::string_view name_of(Layout layout) {
  switch (layout) {
    case Layout::kRowMajor:
      return "row-major";
    case Layout::kPlanar:
      return "planar";
    case Layout::kBlocked8:
      return "blocked8";
    case Layout::kBlocked16:
      return "blocked16";
    case Layout::kKernel8:
      return "kernel8";
    case Layout::kKernel16:
      return "kernel16";
  }
  return "?";
}

std::int64_t block_of(Layout layout) {
  switch (layout) {
    case Layout::kBlocked8:
    case Layout::kKernel8:
      return 8;
    case Layout::kBlocked16:
    case Layout::kKernel16:
      return 16;
    default:
      return 1;
  }
}

bool fits(const TensorType& type, Layout layout) {
  if (layout == Layout::kRowMajor) return true;
  if (type.shape.rank() != 4) return false;
  const std::int64_t block = block_of(layout);
  const bool kernel = layout == Layout::kKernel8 || layout == Layout::kKernel16;
  return type.shape[3] % block == 0 && (!kernel || type.shape[2] % block == 0);
}

Layout kernel_layout(const TensorType& type, std::int64_t block) {
  const Layout layout = block == 16  ? Layout::kKernel16
                        : block == 8 ? Layout::kKernel8
                                     : Layout::kRowMajor;
  return fits(type, layout) ? layout : Layout::kRowMajor;
}

Planes::Planes(const Shape& x, Layout layout)
    : examples(x[0]), blocks(1), pixels(1), width(x.back()) {
  for (int axis = 1; axis + 1 < x.rank(); ++axis) pixels *= x[axis];
  if (layout == Layout::kRowMajor) return;
  width = block_of(layout);
  blocks = x.back() / width;
}

}  // namespace toroid::cpu
