#include "toroid/ops/avg_pool.h"

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"
#include "toroid/backends/cpu/pooling.h"
#include "toroid/backends/cpu/vectors.h"

namespace toroid::cpu {
namespace {

// A window's share of a sum: one over its rows' count times its columns'.
struct Shares {
  std::vector<std::int64_t> rows, columns;

  template <class Pool>
  Shares(const Pool& op, const PoolGeometry& g)
      : rows(window_counts(op, 0, g.h, g.oh)), columns(window_counts(op, 1, g.w, g.ow)) {}

  float at(std::int64_t i, std::int64_t j) const {
    return 1.0F / static_cast<float>(rows[static_cast<std::size_t>(i)] *
                                     columns[static_cast<std::size_t>(j)]);
  }
};

TOROID_CLONES void pool_example(const PoolGeometry& g, const Shares& shares, const float* x,
                                std::int64_t example, float* out) {
  float* y = out + example * g.oh * g.ow * g.c;
  for (std::int64_t i = 0; i < g.oh; ++i) {
    for (std::int64_t j = 0; j < g.ow; ++j, y += g.c) {
      const PoolRectangle r = g.inside(i, j);
      std::fill_n(y, g.c, 0.0F);
      for (std::int64_t a = r.top; a < r.bottom; ++a) {
        for (std::int64_t b = r.left; b < r.right; ++b) {
          const float* from = g.pixel(x, example, a, b);
#pragma omp simd
          for (std::int64_t k = 0; k < g.c; ++k) y[k] += from[k];
        }
      }
      const float share = shares.at(i, j);
#pragma omp simd
      for (std::int64_t k = 0; k < g.c; ++k) y[k] *= share;
    }
  }
}

TOROID_CLONES void pool_gradient_example(const PoolGeometry& g, const Shares& shares,
                                         const float* dy_all, std::int64_t example, float* dx_all) {
  const float* dy = dy_all + example * g.oh * g.ow * g.c;
  float* dx = dx_all + example * g.h * g.w * g.c;
  std::fill_n(dx, g.h * g.w * g.c, 0.0F);
  for (std::int64_t i = 0; i < g.oh; ++i) {
    for (std::int64_t j = 0; j < g.ow; ++j, dy += g.c) {
      const PoolRectangle r = g.inside(i, j);
      const float share = shares.at(i, j);
      for (std::int64_t a = r.top; a < r.bottom; ++a) {
        for (std::int64_t b = r.left; b < r.right; ++b) {
          float* to = dx + (a * g.w + b) * g.c;
#pragma omp simd
          for (std::int64_t k = 0; k < g.c; ++k) to[k] += dy[k] * share;
        }
      }
    }
  }
}

// What an example of each direction is made by.
using Example = void (*)(const PoolGeometry& g, const Shares& shares, const float* from,
                         std::int64_t example, float* to);

// Both directions; bf16 examples go through f32 copies.
template <class T>
class AveragingKernel : public Kernel {
 public:
  AveragingKernel(const PoolGeometry& g, const Shares& shares, Example example, std::int64_t from,
                  std::int64_t to)
      : g_(g), shares_(shares), example_(example), from_(from), to_(to), wide_(from, to) {}

  void run(const Arguments& arguments) override {
    const auto* from = arguments.input<T>(0);
    auto* to = arguments.output<T>();
    parallel_ranges(g_.n, g_.h * g_.w * g_.c, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t n = first; n < last; ++n) {
        if constexpr (std::is_same_v<T, float>) {
          example_(g_, shares_, from, n, to);
        } else {
          convert_range(from + n * from_, wide_.x(arguments), from_);
          example_(g_, shares_, wide_.x(arguments), 0, wide_.y(arguments));
          convert_range(wide_.y(arguments), to + n * to_, to_);
        }
      }
    });
  }
  std::size_t scratch_bytes() const override {
    return std::is_same_v<T, float> ? 0 : wide_.bytes();
  }

 private:
  PoolGeometry g_;
  Shares shares_;
  Example example_;
  std::int64_t from_, to_;  // elements of an example
  WideCopies wide_;
};

std::unique_ptr<Kernel> make_averaging(DType dtype, const PoolGeometry& g, const Shares& shares,
                                       Example example, std::int64_t from, std::int64_t to) {
  if (dtype == DType::bf16) {
    return std::make_unique<AveragingKernel<BFloat16>>(g, shares, example, from, to);
  }
  return std::make_unique<AveragingKernel<float>>(g, shares, example, from, to);
}

}  // namespace

std::unique_ptr<Kernel> make_avg_pool(const NodeContext& context) {
  const auto& op = context.op<AvgPool>();
  const PoolGeometry g(op, context.inputs[0].shape, context.input_layouts[0]);
  return make_averaging(context.inputs[0].dtype, g, Shares(op, g), pool_example, g.h * g.w * g.c,
                        g.oh * g.ow * g.c);
}
std::unique_ptr<Kernel> make_avg_pool_gradient(const NodeContext& context) {
  const auto& op = context.op<AvgPoolGradient>();
  const PoolGeometry g(op, context.outputs()[0].shape, context.input_layouts[0]);
  return make_averaging(context.inputs[0].dtype, g, Shares(op, g), pool_gradient_example,
                        g.oh * g.ow * g.c, g.h * g.w * g.c);
}

}  // namespace toroid::cpu
