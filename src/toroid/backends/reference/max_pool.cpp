#include "toroid/ops/max_pool.h"

#include "toroid/backends/reference/kernels.h"

namespace toroid::reference {
namespace {

// Calls f(y's index, x's index) with the first largest element of each window, row by row.
template <class Attributes, class T, class F>
void for_largest(const Attributes& pool, const Shape& x_shape, const Shape& y_shape,
                 std::span<const T> x, F&& f) {
  const std::int64_t height = x_shape[1], width = x_shape[2], channels = x_shape[3];
  std::size_t y_at = 0;
  for (std::int64_t n = 0; n < y_shape[0]; ++n) {
    for (std::int64_t i = 0; i < y_shape[1]; ++i) {
      for (std::int64_t j = 0; j < y_shape[2]; ++j) {
        for (std::int64_t c = 0; c < channels; ++c) {
          std::int64_t best = -1;
          for (std::int64_t a = 0; a < pool.window[0]; ++a) {
            const std::int64_t h = i * pool.stride[0] + a - pool.padding[0];
            if (h < 0 || h >= height) continue;
            for (std::int64_t b = 0; b < pool.window[1]; ++b) {
              const std::int64_t w = j * pool.stride[1] + b - pool.padding[2];
              if (w < 0 || w >= width) continue;
              const std::int64_t at = ((n * height + h) * width + w) * channels + c;
              if (best < 0 || x[static_cast<std::size_t>(at)] > x[static_cast<std::size_t>(best)]) {
                best = at;
              }
            }
          }
          f(y_at++, static_cast<std::size_t>(best));
        }
      }
    }
  }
}

}  // namespace

void max_pool(const KernelCall& call) {
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = call.input<T>(0);
    const auto y = call.output<T>();
    for_largest(call.attributes<MaxPool>(), call.shape(0), call.outputs[0]->shape(), x,
                [&](std::size_t y_at, std::size_t x_at) { y[y_at] = x[x_at]; });
  });
}

void max_pool_gradient(const KernelCall& call) {
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto dy = call.input<T>(1);
    std::vector<double> dx(call.output<T>().size());
    for_largest(call.attributes<MaxPoolGradient>(), call.shape(0), call.shape(1), call.input<T>(0),
                [&](std::size_t y_at, std::size_t x_at) { dx[x_at] += dy[y_at]; });
    store(dx, call.output<T>());
  });
}

}  // namespace toroid::reference
