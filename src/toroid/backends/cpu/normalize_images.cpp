#include "toroid/ops/normalize_images.h"

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"

namespace toroid::cpu {
namespace {

TOROID_CLONES void normalize(const std::uint8_t* x, float mean, float scale, std::int64_t step,
                             float* y, std::int64_t first, std::int64_t last) {
#pragma omp simd
  for (std::int64_t i = first; i < last; ++i) {
    y[i * step] = (static_cast<float>(x[i * step]) - mean) * scale;
  }
}

class NormalizeImagesKernel : public Kernel {
 public:
  explicit NormalizeImagesKernel(const NodeContext& context)
      : channels_(context.inputs[0].shape.back()),
        pixels_(channels_ == 0 ? 0 : context.inputs[0].elements() / channels_) {
    const auto& op = context.op<NormalizeImages>();
    for (const double mean : op.mean) mean_.push_back(static_cast<float>(mean));
    for (const double scale : op.scale) scale_.push_back(static_cast<float>(scale));
  }

  void run(const Arguments& arguments) override {
    const auto* x = arguments.input<std::uint8_t>(0);
    auto* y = arguments.output<float>();
    parallel_ranges(pixels_, channels_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t c = 0; c < channels_; ++c) {
        const auto i = static_cast<std::size_t>(c);
        normalize(x + c, mean_[i], scale_[i], channels_, y + c, first, last);
      }
    });
  }

 private:
  std::int64_t channels_, pixels_;
  std::vector<float> mean_, scale_;
};

}  // namespace

std::unique_ptr<Kernel> make_normalize_images(const NodeContext& context) {
  return std::make_unique<NormalizeImagesKernel>(context);
}

}  // namespace toroid::cpu
