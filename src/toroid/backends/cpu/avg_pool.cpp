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

template <class T>
class AvgPoolKernel : public Kernel {
 public:
  explicit AvgPoolKernel(const NodeContext& context)
      : g_(context.op<AvgPool>(), context.inputs[0].shape, context.input_layouts[0]),
        shares_(context.op<AvgPool>(), g_),
        wide_(g_.h * g_.w * g_.c, g_.oh * g_.ow * g_.c) {}

  void run(const Arguments& arguments) override {
    const auto* x = arguments.input<T>(0);
    auto* y = arguments.output<T>();
    const std::int64_t x_size = g_.h * g_.w * g_.c, y_size = g_.oh * g_.ow * g_.c;
    parallel_ranges(g_.n, x_size, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t n = first; n < last; ++n) {
        if constexpr (std::is_same_v<T, float>) {
          pool_example(g_, shares_, x, n, y);
        } else {
          convert_range(x + n * x_size, wide_.x(arguments), x_size);
          pool_example(g_, shares_, wide_.x(arguments), 0, wide_.y(arguments));
          convert_range(wide_.y(arguments), y + n * y_size, y_size);
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
  WideCopies wide_;
};

template <class T>
class AvgPoolGradientKernel : public Kernel {
 public:
  explicit AvgPoolGradientKernel(const NodeContext& context)
      : g_(context.op<AvgPoolGradient>(), context.outputs()[0].shape, context.input_layouts[0]),
        shares_(context.op<AvgPoolGradient>(), g_),
        wide_(g_.h * g_.w * g_.c, g_.oh * g_.ow * g_.c) {}

  void run(const Arguments& arguments) override {
    const auto* dy = arguments.input<T>(0);
    auto* dx = arguments.output<T>();
    const std::int64_t x_size = g_.h * g_.w * g_.c, y_size = g_.oh * g_.ow * g_.c;
    parallel_ranges(g_.n, x_size, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t n = first; n < last; ++n) {
        if constexpr (std::is_same_v<T, float>) {
          pool_gradient_example(g_, shares_, dy, n, dx);
        } else {
          convert_range(dy + n * y_size, wide_.y(arguments), y_size);
          pool_gradient_example(g_, shares_, wide_.y(arguments), 0, wide_.x(arguments));
          convert_range(wide_.x(arguments), dx + n * x_size, x_size);
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
  WideCopies wide_;
};

}  // namespace

std::unique_ptr<Kernel> make_avg_pool(const NodeContext& context) {
  return make_for_activation<AvgPoolKernel>(context);
}
std::unique_ptr<Kernel> make_avg_pool_gradient(const NodeContext& context) {
  return make_for_activation<AvgPoolGradientKernel>(context);
}

}  // namespace toroid::cpu
