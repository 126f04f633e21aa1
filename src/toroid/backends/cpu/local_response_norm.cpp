#include "toroid/ops/local_response_norm.h"

#include <cmath>

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"

namespace toroid::cpu {
namespace {

struct Norm {
  std::int64_t channels, size;
  float k, alpha, beta;

  template <class Op>
  Norm(const Op& op, const Shape& x)
      : channels(x[3]),
        size(op.size),
        k(static_cast<float>(op.k)),
        alpha(static_cast<float>(op.alpha)),
        beta(static_cast<float>(op.beta)) {}
};

// One thread's rows of a pixel's channels. `padded` has size / 2 zeros at both ends, which stay.
struct Rows {
  float *padded, *s, *power, *sums;

  Rows(const Norm& norm, float* scratch)
      : padded(scratch),
        s(padded + norm.channels + norm.size - 1),
        power(s + norm.channels),
        sums(power + norm.channels) {
    std::fill_n(padded, norm.channels + norm.size - 1, 0.0F);
  }
  static std::size_t bytes(const Norm& norm) {
    return aligned(static_cast<std::size_t>(4 * norm.channels + norm.size) * sizeof(float));
  }
};

// sums[c]: the sum of padded[c] .. padded[c + size - 1].
TOROID_INLINE void window_sums(const Norm& norm, const Rows& rows) {
  std::copy_n(rows.padded, norm.channels, rows.sums);
  for (std::int64_t d = 1; d < norm.size; ++d) {
#pragma omp simd
    for (std::int64_t c = 0; c < norm.channels; ++c) rows.sums[c] += rows.padded[c + d];
  }
}

// s of ops/local_response_norm.h, and s^-beta.
TOROID_INLINE void scales(const Norm& norm, const float* x, const Rows& rows) {
  float* squares = rows.padded + norm.size / 2;
#pragma omp simd
  for (std::int64_t c = 0; c < norm.channels; ++c) squares[c] = x[c] * x[c];
  window_sums(norm, rows);
#pragma omp simd
  for (std::int64_t c = 0; c < norm.channels; ++c) rows.s[c] = norm.k + norm.alpha * rows.sums[c];
  if (norm.beta == 0.75F) {  // everybody's; unlike a power, square roots are vector instructions
#pragma omp simd
    for (std::int64_t c = 0; c < norm.channels; ++c) {
      const float root = std::sqrt(rows.s[c]);
      rows.power[c] = 1 / (root * std::sqrt(root));
    }
    return;
  }
  for (std::int64_t c = 0; c < norm.channels; ++c) {
    rows.power[c] = std::pow(rows.s[c], -norm.beta);
  }
}

TOROID_CLONES void normalize(const Norm& norm, const float* x, float* y, std::int64_t pixels,
                             const Rows& rows) {
  for (std::int64_t p = 0; p < pixels; ++p, x += norm.channels, y += norm.channels) {
    scales(norm, x, rows);
#pragma omp simd
    for (std::int64_t c = 0; c < norm.channels; ++c) y[c] = x[c] * rows.power[c];
  }
}

TOROID_CLONES void normalize_gradient(const Norm& norm, const float* x, const float* dy, float* dx,
                                      std::int64_t pixels, const Rows& rows) {
  const float factor = 2 * norm.alpha * norm.beta;
  float* products = rows.padded + norm.size / 2;
  for (std::int64_t p = 0; p < pixels; ++p) {
    scales(norm, x, rows);
#pragma omp simd
    for (std::int64_t c = 0; c < norm.channels; ++c) {
      products[c] = dy[c] * x[c] * rows.power[c] / rows.s[c];
    }
    window_sums(norm, rows);
#pragma omp simd
    for (std::int64_t c = 0; c < norm.channels; ++c) {
      dx[c] = dy[c] * rows.power[c] - factor * x[c] * rows.sums[c];
    }
    x += norm.channels;
    dy += norm.channels;
    dx += norm.channels;
  }
}

class NormKernel : public Kernel {
 public:
  NormKernel(const Norm& norm, const Shape& x) : norm_(norm), pixels_(x[0] * x[1] * x[2]) {}

  std::size_t scratch_bytes() const override {
    return Rows::bytes(norm_) * static_cast<std::size_t>(omp_get_max_threads());
  }
  Reuse reuse(std::size_t, std::size_t) const override { return Reuse::kOverwrite; }

 protected:
  // f(first pixel's offset, pixels, rows)
  template <class F>
  void for_pixels(const Arguments& arguments, F&& f) const {
    parallel_ranges(pixels_, norm_.channels * norm_.size,
                    [&](std::int64_t first, std::int64_t last) {
                      const auto thread = static_cast<std::size_t>(omp_get_thread_num());
                      f(first * norm_.channels, last - first,
                        Rows(norm_, arguments.scratch_at<float>(Rows::bytes(norm_) * thread)));
                    });
  }
  Norm norm_;

 private:
  std::int64_t pixels_;
};

class LocalResponseNormKernel : public NormKernel {
 public:
  explicit LocalResponseNormKernel(const NodeContext& context)
      : NormKernel({context.op<LocalResponseNorm>(), context.inputs[0].shape},
                   context.inputs[0].shape) {}

  void run(const Arguments& arguments) override {
    for_pixels(arguments, [&](std::int64_t at, std::int64_t pixels, const Rows& rows) {
      normalize(norm_, arguments.input<float>(0) + at, arguments.output<float>() + at, pixels,
                rows);
    });
  }
};

class LocalResponseNormGradientKernel : public NormKernel {
 public:
  explicit LocalResponseNormGradientKernel(const NodeContext& context)
      : NormKernel({context.op<LocalResponseNormGradient>(), context.inputs[0].shape},
                   context.inputs[0].shape) {}

  void run(const Arguments& arguments) override {
    for_pixels(arguments, [&](std::int64_t at, std::int64_t pixels, const Rows& rows) {
      normalize_gradient(norm_, arguments.input<float>(0) + at, arguments.input<float>(1) + at,
                         arguments.output<float>() + at, pixels, rows);
    });
  }
};

}  // namespace

std::unique_ptr<Kernel> make_local_response_norm(const NodeContext& context) {
  return std::make_unique<LocalResponseNormKernel>(context);
}
std::unique_ptr<Kernel> make_local_response_norm_gradient(const NodeContext& context) {
  return std::make_unique<LocalResponseNormGradientKernel>(context);
}

}  // namespace toroid::cpu
