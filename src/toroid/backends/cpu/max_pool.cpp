#include "toroid/ops/max_pool.h"

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"
#include "toroid/backends/cpu/pooling.h"

namespace toroid::cpu {
namespace {

template <class T>
TOROID_INLINE void pool(const PoolGeometry& g, const T* x, std::int64_t example, T* out) {
  T* y = out + example * g.oh * g.ow * g.c;
  for (std::int64_t i = 0; i < g.oh; ++i) {
    for (std::int64_t j = 0; j < g.ow; ++j, y += g.c) {
      const PoolRectangle r = g.inside(i, j);
      std::copy_n(g.pixel(x, example, r.top, r.left), g.c, y);
      for (std::int64_t a = r.top; a < r.bottom; ++a) {
        for (std::int64_t b = r.left; b < r.right; ++b) {
          const T* from = g.pixel(x, example, a, b);
#pragma omp simd
          for (std::int64_t k = 0; k < g.c; ++k) {
            y[k] = static_cast<float>(from[k]) > static_cast<float>(y[k]) ? from[k] : y[k];
          }
        }
      }
    }
  }
}
TOROID_CLONES void pool_example(const PoolGeometry& g, const float* x, std::int64_t example,
                                float* y) {
  pool(g, x, example, y);
}
TOROID_CLONES void pool_example(const PoolGeometry& g, const BFloat16* x, std::int64_t example,
                                BFloat16* y) {
  pool(g, x, example, y);
}

// `best` and `where` have room for c elements.
template <class T>
TOROID_INLINE void pool_gradient(const PoolGeometry& g, const T* x, const T* dy_all,
                                 std::int64_t example, T* dx_all, T* best, std::int32_t* where) {
  const T* dy = dy_all + example * g.oh * g.ow * g.c;
  const T* picture = g.pixel(x, example, 0, 0);
  T* dx = dx_all + example * g.h * g.w * g.c;
  std::fill_n(dx, g.h * g.w * g.c, T(0.0F));
  for (std::int64_t i = 0; i < g.oh; ++i) {
    for (std::int64_t j = 0; j < g.ow; ++j, dy += g.c) {
      const PoolRectangle r = g.inside(i, j);
      std::copy_n(g.pixel(x, example, r.top, r.left), g.c, best);
      std::fill_n(where, g.c, static_cast<std::int32_t>(r.top * g.w + r.left));
      for (std::int64_t a = r.top; a < r.bottom; ++a) {
        for (std::int64_t b = r.left; b < r.right; ++b) {
          const auto here = static_cast<std::int32_t>(a * g.w + b);
          const T* from = picture + here * g.c;
#pragma omp simd
          for (std::int64_t k = 0; k < g.c; ++k) {
            const bool better = static_cast<float>(from[k]) > static_cast<float>(best[k]);
            where[k] = better ? here : where[k];
            best[k] = better ? from[k] : best[k];
          }
        }
      }
      for (std::int64_t k = 0; k < g.c; ++k) {
        T& to = dx[where[k] * g.c + k];
        to = T(static_cast<float>(to) + static_cast<float>(dy[k]));
      }
    }
  }
}
TOROID_CLONES void pool_gradient_example(const PoolGeometry& g, const float* x, const float* dy,
                                         std::int64_t example, float* dx, float* best,
                                         std::int32_t* where) {
  pool_gradient(g, x, dy, example, dx, best, where);
}
TOROID_CLONES void pool_gradient_example(const PoolGeometry& g, const BFloat16* x,
                                         const BFloat16* dy, std::int64_t example, BFloat16* dx,
                                         BFloat16* best, std::int32_t* where) {
  pool_gradient(g, x, dy, example, dx, best, where);
}

template <class T>
class MaxPoolKernel : public Kernel {
 public:
  explicit MaxPoolKernel(const NodeContext& context)
      : g_(context.op<MaxPool>(), context.inputs[0].shape, context.input_layouts[0]) {}

  void run(const Arguments& arguments) override {
    const auto* x = arguments.input<T>(0);
    auto* y = arguments.output<T>();
    parallel_ranges(g_.n, g_.h * g_.w * g_.c, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t n = first; n < last; ++n) pool_example(g_, x, n, y);
    });
  }

 private:
  PoolGeometry g_;
};

template <class T>
class MaxPoolGradientKernel : public Kernel {
 public:
  explicit MaxPoolGradientKernel(const NodeContext& context)
      : g_(context.op<MaxPoolGradient>(), context.inputs[0].shape, context.input_layouts[0]),
        per_thread_(aligned(static_cast<std::size_t>(g_.c) * sizeof(float))) {}

  void run(const Arguments& arguments) override {
    const auto *x = arguments.input<T>(0), *dy = arguments.input<T>(1);
    auto* dx = arguments.output<T>();
    parallel_ranges(g_.n, g_.h * g_.w * g_.c, [&](std::int64_t first, std::int64_t last) {
      const std::size_t offset = 2 * per_thread_ * static_cast<std::size_t>(omp_get_thread_num());
      auto* best = arguments.scratch_at<T>(offset);
      auto* where = arguments.scratch_at<std::int32_t>(offset + per_thread_);
      for (std::int64_t n = first; n < last; ++n) {
        pool_gradient_example(g_, x, dy, n, dx, best, where);
      }
    });
  }
  std::size_t scratch_bytes() const override {
    return 2 * per_thread_ * static_cast<std::size_t>(omp_get_max_threads());
  }

 private:
  PoolGeometry g_;
  std::size_t per_thread_;
};

}  // namespace

std::unique_ptr<Kernel> make_max_pool(const NodeContext& context) {
  return make_for_activation<MaxPoolKernel>(context);
}
std::unique_ptr<Kernel> make_max_pool_gradient(const NodeContext& context) {
  return make_for_activation<MaxPoolGradientKernel>(context);
}

}  // namespace toroid::cpu
