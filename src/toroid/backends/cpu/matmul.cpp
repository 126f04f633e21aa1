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
      : planes_(context.inputs[0].shape, context.input_layouts[0]) {}

  void run(const Arguments& arguments) override {
    const auto *x = arguments.input<float>(0), *bias = arguments.input<float>(1);
    auto* y = arguments.output<float>();
    const std::int64_t runs = planes_.examples * planes_.blocks;
    const std::int64_t each = planes_.pixels * planes_.width;
    parallel_ranges(runs, each, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t run = first; run < last; ++run) {
        add_rows(x + run * each, bias + run % planes_.blocks * planes_.width, planes_.pixels,
                 planes_.width, y + run * each);
      }
    });
  }
  Reuse reuse(std::size_t input, std::size_t) const override {
    return input == 0 ? Reuse::kOverwrite : Reuse::kNone;
  }

 private:
  Planes planes_;
};

}  // namespace

std::unique_ptr<Kernel> make_matmul(const NodeContext& context) {
  const auto& op = context.op<Matmul>();
  return matrix_product(context.onednn, {context.inputs[0], op.transpose_a},
                        {context.inputs[1], op.transpose_b}, context.outputs()[0]);
}
std::unique_ptr<Kernel> make_add_bias(const NodeContext& context) {
  return std::make_unique<AddBiasKernel>(context);
}

}  // namespace toroid::cpu
