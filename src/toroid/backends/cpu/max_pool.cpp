#include "toroid/ops/max_pool.h"

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"
#include "toroid/backends/cpu/pooling.h"

namespace toroid::cpu {
namespace {

TOROID_CLONES void pool_example(const PoolGeometry& g, const float* x, std::int64_t example,
                                float* out) {
  float* y = out + example * g.oh * g.ow * g.c;
  for (std::int64_t i = 0; i < g.oh; ++i) {
    for (std::int64_t j = 0; j < g.ow; ++j, y += g.c) {
      const PoolRectangle r = g.inside(i, j);
      std::copy_n(g.pixel(x, example, r.top, r.left), g.c, y);
      for (std::int64_t a = r.top; a < r.bottom; ++a) {
        for (std::int64_t b = r.left; b < r.right; ++b) {
          const float* from = g.pixel(x, example, a, b);
#pragma omp simd
          for (std::int64_t k = 0; k < g.c; ++k) y[k] = from[k] > y[k] ? from[k] : y[k];
        }
      }
    }
  }
}

// `best` and `where` have room for c elements.
TOROID_CLONES void pool_gradient_example(const PoolGeometry& g, const float* x, const float* dy_all,
                                         std::int64_t example, float* dx_all, float* best,
                                         std::int32_t* where) {
  const float* dy = dy_all + example * g.oh * g.ow * g.c;
  const float* picture = g.pixel(x, example, 0, 0);
  float* dx = dx_all + example * g.h * g.w * g.c;
  std::fill_n(dx, g.h * g.w * g.c, 0.0F);
  for (std::int64_t i = 0; i < g.oh; ++i) {
    for (std::int64_t j = 0; j < g.ow; ++j, dy += g.c) {
      const PoolRectangle r = g.inside(i, j);
      std::copy_n(g.pixel(x, example, r.top, r.left), g.c, best);
      std::fill_n(where, g.c, static_cast<std::int32_t>(r.top * g.w + r.left));
      for (std::int64_t a = r.top; a < r.bottom; ++a) {
        for (std::int64_t b = r.left; b < r.right; ++b) {
          const auto here = static_cast<std::int32_t>(a * g.w + b);
          const float* from = picture + here * g.c;
#pragma omp simd
          for (std::int64_t k = 0; k < g.c; ++k) {
            where[k] = from[k] > best[k] ? here : where[k];
            best[k] = from[k] > best[k] ? from[k] : best[k];
          }
        }
      }
      for (std::int64_t k = 0; k < g.c; ++k) dx[where[k] * g.c + k] += dy[k];
    }
  }
}

class MaxPoolKernel : public Kernel {
 public:
  explicit MaxPoolKernel(const NodeContext& context)
      : g_(context.op<MaxPool>(), context.inputs[0].shape) {}

  void run(const Arguments& arguments) override {
    const auto* x = arguments.input<float>(0);
    auto* y = arguments.output<float>();
    parallel_ranges(g_.n, g_.h * g_.w * g_.c, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t n = first; n < last; ++n) pool_example(g_, x, n, y);
    });
  }

 private:
  PoolGeometry g_;
};

class MaxPoolGradientKernel : public Kernel {
 public:
  explicit MaxPoolGradientKernel(const NodeContext& context)
      : g_(context.op<MaxPoolGradient>(), context.inputs[0].shape),
        per_thread_(aligned(static_cast<std::size_t>(g_.c) * sizeof(float))) {}

  void run(const Arguments& arguments) override {
    const auto *x = arguments.input<float>(0), *dy = arguments.input<float>(1);
    auto* dx = arguments.output<float>();
    parallel_ranges(g_.n, g_.h * g_.w * g_.c, [&](std::int64_t first, std::int64_t last) {
      const std::size_t offset = 2 * per_thread_ * static_cast<std::size_t>(omp_get_thread_num());
      auto* best = arguments.scratch_at<float>(offset);
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
  return std::make_unique<MaxPoolKernel>(context);
}
std::unique_ptr<Kernel> make_max_pool_gradient(const NodeContext& context) {
  return std::make_unique<MaxPoolGradientKernel>(context);
}

}  // namespace toroid::cpu
