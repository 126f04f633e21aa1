#include "toroid/ops/matmul.h"

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/onednn.h"
#include "toroid/backends/cpu/parallel.h"

namespace toroid::cpu {
namespace {

TOROID_CLONES void add_rows(const float* x, const float* bias, std::int64_t rows,
                            std::int64_t channels, float* y) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * channels;
#pragma omp simd
    for (std::int64_t c = 0; c < channels; ++c) y[at + c] = x[at + c] + bias[c];
  }
}

class AddBiasKernel : public Kernel {
 public:
  explicit AddBiasKernel(const NodeContext& context)
      : channels_(context.inputs[1].elements()),
        rows_(channels_ == 0 ? 0 : context.inputs[0].elements() / channels_) {}

  void run(const Arguments& arguments) override {
    const auto *x = arguments.input<float>(0), *bias = arguments.input<float>(1);
    auto* y = arguments.output<float>();
    parallel_ranges(rows_, channels_, [&](std::int64_t first, std::int64_t last) {
      add_rows(x + first * channels_, bias, last - first, channels_, y + first * channels_);
    });
  }
  Reuse reuse(std::size_t input, std::size_t) const override {
    return input == 0 ? Reuse::kOverwrite : Reuse::kNone;
  }

 private:
  std::int64_t channels_, rows_;
};

}  // namespace

std::unique_ptr<Kernel> make_matmul(const NodeContext& context) {
  const auto& op = context.op<Matmul>();
  return matrix_product(context.onednn, {context.inputs[0].shape, op.transpose_a},
                        {context.inputs[1].shape, op.transpose_b}, context.outputs()[0].shape);
}
std::unique_ptr<Kernel> make_add_bias(const NodeContext& context) {
  return std::make_unique<AddBiasKernel>(context);
}

}  // namespace toroid::cpu
