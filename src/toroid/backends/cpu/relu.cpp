#include "toroid/ops/relu.h"

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"

namespace toroid::cpu {
namespace {

TOROID_CLONES void relu(const float* x, float* y, std::int64_t first, std::int64_t last) {
#pragma omp simd
  for (std::int64_t i = first; i < last; ++i) y[i] = x[i] < 0 ? 0 : x[i];  // NaN stays
}

TOROID_CLONES void relu_gradient(const float* dy, const float* y, float* dx, std::int64_t first,
                                 std::int64_t last) {
#pragma omp simd
  for (std::int64_t i = first; i < last; ++i) dx[i] = y[i] > 0 ? dy[i] : 0;
}

class ReluKernel : public Kernel {
 public:
  explicit ReluKernel(const NodeContext& context) : elements_(context.inputs[0].elements()) {}

  void run(const Arguments& arguments) override {
    const auto* x = arguments.input<float>(0);
    auto* y = arguments.output<float>();
    parallel_ranges(elements_, 1,
                    [&](std::int64_t first, std::int64_t last) { relu(x, y, first, last); });
  }
  Reuse reuse(std::size_t, std::size_t) const override { return Reuse::kOverwrite; }

 private:
  std::int64_t elements_;
};

class ReluGradientKernel : public Kernel {
 public:
  explicit ReluGradientKernel(const NodeContext& context)
      : elements_(context.inputs[0].elements()) {}

  void run(const Arguments& arguments) override {
    const auto *dy = arguments.input<float>(0), *y = arguments.input<float>(1);
    auto* dx = arguments.output<float>();
    parallel_ranges(elements_, 1, [&](std::int64_t first, std::int64_t last) {
      relu_gradient(dy, y, dx, first, last);
    });
  }
  Reuse reuse(std::size_t, std::size_t) const override { return Reuse::kOverwrite; }

 private:
  std::int64_t elements_;
};

}  // namespace

std::unique_ptr<Kernel> make_relu(const NodeContext& context) {
  return std::make_unique<ReluKernel>(context);
}
std::unique_ptr<Kernel> make_relu_gradient(const NodeContext& context) {
  return std::make_unique<ReluGradientKernel>(context);
}

}  // namespace toroid::cpu
