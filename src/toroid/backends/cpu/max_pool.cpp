#include "toroid/ops/max_pool.h"

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"
#include "toroid/backends/cpu/pooling.h"
#include "toroid/backends/cpu/vectors.h"

namespace toroid::cpu {
namespace {

template <class T>
TOROID_INLINE void pool(const PoolGeometry& g, const T* x, std::int64_t example, T* out) {
  T* y = out + example * g.oh * g.ow * g.c;
  for (std::int64_t i = 0; i < g.oh; ++i) {
    for (std::int64_t j = 0; j < g.ow; ++j, y += g.c) {
      const PoolRectangle r = g.inside(i, j);
      for_each_lanes(0, g.c, [&](auto whole, std::int64_t c, std::int64_t n) TOROID_INLINE_LAMBDA {
        Lanes best, value;
        load_lanes<whole.value>(g.pixel(x, example, r.top, r.left) + c, n, best);
        for (std::int64_t a = r.top; a < r.bottom; ++a) {
          for (std::int64_t b = r.left; b < r.right; ++b) {
            load_lanes<whole.value>(g.pixel(x, example, a, b) + c, n, value);
            best = value > best ? value : best;
          }
        }
        store_lanes<whole.value>(best, n, y + c);
      });
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

using Places = std::int32_t __attribute__((vector_size(kLanes * sizeof(std::int32_t))));

// Of one example, to f32 whatever the pictures are: several windows may meet in a pixel.
template <class T>
TOROID_INLINE void pool_gradient(const PoolGeometry& g, const T* x, const T* dy_all,
                                 std::int64_t example, float* dx) {
  const T* dy = dy_all + example * g.oh * g.ow * g.c;
  const T* picture = g.pixel(x, example, 0, 0);
  std::fill_n(dx, g.h * g.w * g.c, 0.0F);
  for (std::int64_t i = 0; i < g.oh; ++i) {
    for (std::int64_t j = 0; j < g.ow; ++j, dy += g.c) {
      const PoolRectangle r = g.inside(i, j);
      for_each_lanes(0, g.c, [&](auto whole, std::int64_t c, std::int64_t n) TOROID_INLINE_LAMBDA {
        Lanes best, value;
        Places where = Places{} + static_cast<std::int32_t>(r.top * g.w + r.left);
        load_lanes<whole.value>(picture + (r.top * g.w + r.left) * g.c + c, n, best);
        for (std::int64_t a = r.top; a < r.bottom; ++a) {
          for (std::int64_t b = r.left; b < r.right; ++b) {
            const auto here = static_cast<std::int32_t>(a * g.w + b);
            load_lanes<whole.value>(picture + here * g.c + c, n, value);
            where = value > best ? Places{} + here : where;
            best = value > best ? value : best;
          }
        }
        for (std::int64_t k = 0; k < n; ++k) {
          dx[where[k] * g.c + c + k] += static_cast<float>(dy[c + k]);
        }
      });
    }
  }
}
TOROID_CLONES void pool_gradient_example(const PoolGeometry& g, const float* x, const float* dy,
                                         std::int64_t example, float* dx) {
  pool_gradient(g, x, dy, example, dx);
}
TOROID_CLONES void pool_gradient_example(const PoolGeometry& g, const BFloat16* x,
                                         const BFloat16* dy, std::int64_t example, float* dx) {
  pool_gradient(g, x, dy, example, dx);
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
        wide_(g_.h * g_.w * g_.c, 0) {}

  void run(const Arguments& arguments) override {
    const auto *x = arguments.input<T>(0), *dy = arguments.input<T>(1);
    auto* dx = arguments.output<T>();
    const std::int64_t size = g_.h * g_.w * g_.c;
    parallel_ranges(g_.n, size, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t n = first; n < last; ++n) {
        if constexpr (std::is_same_v<T, float>) {
          pool_gradient_example(g_, x, dy, n, dx + n * size);
        } else {
          pool_gradient_example(g_, x, dy, n, wide_.x(arguments));
          convert_range(wide_.x(arguments), dx + n * size, size);
        }
      }
    });
  }
  std::size_t scratch_bytes() const override {
    return std::is_same_v<T, float> ? 0 : wide_.bytes();
  }

 private:
  PoolGeometry g_;
  WideCopies wide_;
};

}  // namespace

std::unique_ptr<Kernel> make_max_pool(const NodeContext& context) {
  return make_for_activation<MaxPoolKernel>(context);
}
std::unique_ptr<Kernel> make_max_pool_gradient(const NodeContext& context) {
  return make_for_activation<MaxPoolGradientKernel>(context);
}

}  // namespace toroid::cpu
