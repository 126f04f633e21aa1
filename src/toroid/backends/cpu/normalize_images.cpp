#include "toroid/ops/normalize_images.h"

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"

namespace toroid::cpu {
namespace {

// One channel of some pixels; steps are from pixel to pixel.
template <class T>
TOROID_INLINE void normalize_pixels(const std::uint8_t* x, std::int64_t x_step, float mean,
                                    float scale, std::int64_t count, T* y, std::int64_t y_step) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    y[i * y_step] = static_cast<T>((static_cast<float>(x[i * x_step]) - mean) * scale);
  }
}
TOROID_CLONES void normalize(const std::uint8_t* x, std::int64_t x_step, float mean, float scale,
                             std::int64_t count, float* y, std::int64_t y_step) {
  normalize_pixels(x, x_step, mean, scale, count, y, y_step);
}
TOROID_CLONES void normalize(const std::uint8_t* x, std::int64_t x_step, float mean, float scale,
                             std::int64_t count, BFloat16* y, std::int64_t y_step) {
  normalize_pixels(x, x_step, mean, scale, count, y, y_step);
}

template <class T>
class NormalizeImagesKernel : public Kernel {
 public:
  explicit NormalizeImagesKernel(const NodeContext& context)
      : to_(context.outputs()[0].shape, context.output_layouts[0]) {
    const auto& op = context.op<NormalizeImages>();
    for (const double mean : op.mean) mean_.push_back(static_cast<float>(mean));
    for (const double scale : op.scale) scale_.push_back(static_cast<float>(scale));
  }

  void run(const Arguments& arguments) override {
    const auto* x = arguments.input<std::uint8_t>(0);
    auto* y = arguments.output<T>();
    const std::int64_t channels = to_.channels();
    parallel_ranges(
        to_.examples, to_.pixels * channels, [&](std::int64_t first, std::int64_t last) {
          for (std::int64_t n = first; n < last; ++n) {
            for (std::int64_t c = 0; c < channels; ++c) {
              const auto i = static_cast<std::size_t>(c);
              normalize(x + n * to_.pixels * channels + c, channels, mean_[i], scale_[i],
                        to_.pixels, y + to_.at(n, c / to_.width, 0) + c % to_.width, to_.width);
            }
          }
        });
  }

 private:
  Planes to_;
  std::vector<float> mean_, scale_;
};

}  // namespace

std::unique_ptr<Kernel> make_normalize_images(const NodeContext& context) {
  if (context.outputs()[0].dtype == DType::bf16) {
    return std::make_unique<NormalizeImagesKernel<BFloat16>>(context);
  }
  return std::make_unique<NormalizeImagesKernel<float>>(context);
}

}  // namespace toroid::cpu
