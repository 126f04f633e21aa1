#include "toroid/ops/relu.h"

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"
#include "toroid/backends/cpu/vectors.h"

namespace toroid::cpu {
namespace {

template <class T>
TOROID_INLINE void relu_range(const T* x, T* y, std::int64_t first, std::int64_t last) {
  for_each_lanes(first, last, [=](auto whole, std::int64_t i, std::int64_t n) TOROID_INLINE_LAMBDA {
    Lanes value;
    load_lanes<whole.value>(x + i, n, value);
    value = value < 0 ? Lanes{} : value;  // NaN stays
    store_lanes<whole.value>(value, n, y + i);
  });
}
TOROID_CLONES void relu(const float* x, float* y, std::int64_t first, std::int64_t last) {
  relu_range(x, y, first, last);
}
TOROID_CLONES void relu(const BFloat16* x, BFloat16* y, std::int64_t first, std::int64_t last) {
  relu_range(x, y, first, last);
}

// Gradients that meet, and the relu's result.
template <class T>
struct Terms {
  const T* dy[ReluGradient::kMostGradients];
  std::int64_t count;
  const T* y;
};

template <std::int64_t kCount, class T>
TOROID_INLINE void gradient_range(const Terms<T>& terms, T* dx, std::int64_t first,
                                  std::int64_t last) {
  const Terms<T> t = terms;
  for_each_lanes(first, last, [=](auto whole, std::int64_t i, std::int64_t n) TOROID_INLINE_LAMBDA {
    Lanes sum, other;
    load_lanes<whole.value>(t.dy[0] + i, n, sum);
    for (std::int64_t k = 1; k < kCount; ++k) {
      load_lanes<whole.value>(t.dy[k] + i, n, other);
      sum += other;
    }
    load_lanes<whole.value>(t.y + i, n, other);
    sum = other > 0 ? sum : Lanes{};
    store_lanes<whole.value>(sum, n, dx + i);
  });
}
template <class T>
TOROID_INLINE void any_gradient_range(const Terms<T>& terms, T* dx, std::int64_t first,
                                      std::int64_t last) {
  if (terms.count == 1) return gradient_range<1>(terms, dx, first, last);
  if (terms.count == 2) return gradient_range<2>(terms, dx, first, last);
  if (terms.count == 3) return gradient_range<3>(terms, dx, first, last);
  gradient_range<4>(terms, dx, first, last);
}
TOROID_CLONES void relu_gradient(const Terms<float>& terms, float* dx, std::int64_t first,
                                 std::int64_t last) {
  any_gradient_range(terms, dx, first, last);
}
TOROID_CLONES void relu_gradient(const Terms<BFloat16>& terms, BFloat16* dx, std::int64_t first,
                                 std::int64_t last) {
  any_gradient_range(terms, dx, first, last);
}

template <class T>
class ReluKernel : public Kernel {
 public:
  explicit ReluKernel(const NodeContext& context) : elements_(context.inputs[0].elements()) {}

  void run(const Arguments& arguments) override {
    const auto* x = arguments.input<T>(0);
    auto* y = arguments.output<T>();
    parallel_ranges(elements_, 1,
                    [&](std::int64_t first, std::int64_t last) { relu(x, y, first, last); });
  }
  Reuse reuse(std::size_t, std::size_t) const override { return Reuse::kOverwrite; }

 private:
  std::int64_t elements_;
};

template <class T>
class ReluGradientKernel : public Kernel {
 public:
  explicit ReluGradientKernel(const NodeContext& context)
      : elements_(context.inputs[0].elements()) {}

  void run(const Arguments& arguments) override {
    Terms<T> terms{{arguments.input<T>(0)}, 1, arguments.input<T>(1)};
    for (std::size_t i = 2; i < arguments.inputs.size(); ++i) {
      terms.dy[terms.count++] = arguments.input<T>(i);
    }
    auto* dx = arguments.output<T>();
    parallel_ranges(elements_, 1, [&](std::int64_t first, std::int64_t last) {
      relu_gradient(terms, dx, first, last);
    });
  }
  Reuse reuse(std::size_t, std::size_t) const override { return Reuse::kOverwrite; }

 private:
  std::int64_t elements_;
};

}  // namespace

std::unique_ptr<Kernel> make_relu(const NodeContext& context) {
  return make_for_activation<ReluKernel>(context);
}
std::unique_ptr<Kernel> make_relu_gradient(const NodeContext& context) {
  return make_for_activation<ReluGradientKernel>(context);
}

}  // namespace toroid::cpu
