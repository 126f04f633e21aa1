#include "toroid/ops/avg_pool.h"

#include "toroid/backends/reference/kernels.h"

namespace toroid::reference {
namespace {

// Calls f(x's index, y's index, the window's divisor) for each pair of an input and an output
// element that belong together, of x [N,H,W,C] and y [N,OH,OW,C].
template <class Pool, class F>
void for_pairs(const Pool& pool, const Shape& x, const Shape& y, F&& f) {
  const auto rows = window_counts(pool, 0, x[1], y[1]),
             columns = window_counts(pool, 1, x[2], y[2]);
  std::size_t y_at = 0;
  for (std::int64_t n = 0; n < y[0]; ++n) {
    for (std::int64_t i = 0; i < y[1]; ++i) {
      for (std::int64_t j = 0; j < y[2]; ++j) {
        const auto divisor = static_cast<double>(rows[static_cast<std::size_t>(i)] *
                                                 columns[static_cast<std::size_t>(j)]);
        for (std::int64_t c = 0; c < y[3]; ++c, ++y_at) {
          for (std::int64_t a = 0; a < pool.window[0]; ++a) {
            const std::int64_t h = i * pool.stride[0] + a - pool.padding[0];
            if (h < 0 || h >= x[1]) continue;
            for (std::int64_t b = 0; b < pool.window[1]; ++b) {
              const std::int64_t w = j * pool.stride[1] + b - pool.padding[2];
              if (w < 0 || w >= x[2]) continue;
              f(static_cast<std::size_t>(((n * x[1] + h) * x[2] + w) * x[3] + c), y_at, divisor);
            }
          }
        }
      }
    }
  }
}

}  // namespace

void avg_pool(const KernelCall& call) {
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = call.input<T>(0);
    std::vector<double> y(call.output<T>().size());
    for_pairs(
        call.attributes<AvgPool>(), call.shape(0), call.outputs[0]->shape(),
        [&](std::size_t x_at, std::size_t y_at, double divisor) { y[y_at] += x[x_at] / divisor; });
    store(y, call.output<T>());
  });
}

void avg_pool_gradient(const KernelCall& call) {
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto dy = call.input<T>(0);
    std::vector<double> dx(call.output<T>().size());
    for_pairs(call.attributes<AvgPoolGradient>(), call.outputs[0]->shape(), call.shape(0),
              [&](std::size_t x_at, std::size_t y_at, double divisor) {
                dx[x_at] += dy[y_at] / divisor;
              });
    store(dx, call.output<T>());
  });
}

}  // namespace toroid::reference
