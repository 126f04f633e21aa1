#include "toroid/backends/cpu/vectors.h"

namespace toroid::cpu {
namespace {

template <class From, class To>
TOROID_INLINE void convert_lanes(const From* x, To* y, std::int64_t count) {
  for_each_lanes(0, count, [=](auto whole, std::int64_t i, std::int64_t n) TOROID_INLINE_LAMBDA {
    Lanes value;
    load_lanes<whole.value>(x + i, n, value);
    store_lanes<whole.value>(value, n, y + i);
  });
}

}  // namespace

TOROID_CLONES void convert_range(const float* x, BFloat16* y, std::int64_t count) {
  convert_lanes(x, y, count);
}
TOROID_CLONES void convert_range(const BFloat16* x, float* y, std::int64_t count) {
  convert_lanes(x, y, count);
}

}  // namespace toroid::cpu
