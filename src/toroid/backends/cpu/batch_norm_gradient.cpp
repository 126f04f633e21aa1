#include "toroid/ops/batch_norm.h"

#include <cmath>

#include "toroid/backends/cpu/batch_norm_rows.h"
#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"

namespace toroid::cpu {
namespace {

// The running sums of one part, and room for those of a block.
struct GradientSums {
  double *dy, *dy_x;
  float *block_dy, *block_dy_x;
};

// Adds the sums of dy and of dy * (x - mean) over up to kBlock rows.
TOROID_CLONES void add_gradient_block(const float* x, const float* dy, const float* mean,
                                      std::int64_t rows, std::int64_t channels,
                                      const GradientSums& part) {
  float *sum_dy = part.block_dy, *sum_dy_x = part.block_dy_x;
  std::fill_n(sum_dy, channels, 0.0F);
  std::fill_n(sum_dy_x, channels, 0.0F);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float *x_row = x + r * channels, *dy_row = dy + r * channels;
#pragma omp simd
    for (std::int64_t c = 0; c < channels; ++c) {
      sum_dy[c] += dy_row[c];
      sum_dy_x[c] += dy_row[c] * (x_row[c] - mean[c]);
    }
  }
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) {
    part.dy[c] += static_cast<double>(sum_dy[c]);
    part.dy_x[c] += static_cast<double>(sum_dy_x[c]);
  }
}

class GradientSumsKernel : public Kernel {
 public:
  explicit GradientSumsKernel(const NodeContext& context)
      : epsilon_(context.op<BatchNormGradientSums>().epsilon),
        rows_(context.inputs[0].shape, context.inputs[2].shape[0]),
        parts_(rows_),
        doubles_(aligned(static_cast<std::size_t>(rows_.channels) * sizeof(double))) {}

  void run(const Arguments& arguments) override {
    const auto *x = arguments.input<float>(0), *dy = arguments.input<float>(1);
    const auto *mean = arguments.input<float>(2), *variance = arguments.input<float>(3);
    const std::int64_t channels = rows_.channels;
    parts_.run(rows_, [&](std::int64_t task, std::int64_t first, std::int64_t last) {
      const GradientSums part = sums(arguments, task);
      std::fill_n(part.dy, channels, 0.0);
      std::fill_n(part.dy_x, channels, 0.0);
      const float* group_mean = mean + task / parts_.per_group * channels;
      for (std::int64_t r = first; r < last; r += kBlock) {
        add_gradient_block(x + r * channels, dy + r * channels, group_mean,
                           std::min(kBlock, last - r), channels, part);
      }
    });
    for (std::int64_t i = 0; i < rows_.groups * channels; ++i) {
      double sum_dy = 0, sum_dy_x = 0;
      for (std::int64_t p = 0; p < parts_.per_group; ++p) {
        const GradientSums part = sums(arguments, i / channels * parts_.per_group + p);
        sum_dy += part.dy[i % channels];
        sum_dy_x += part.dy_x[i % channels];
      }
      arguments.output<float>(0)[i] = static_cast<float>(sum_dy);
      arguments.output<float>(1)[i] =
          static_cast<float>(sum_dy_x / std::sqrt(static_cast<double>(variance[i]) + epsilon_));
    }
  }
  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(rows_.groups * parts_.per_group) * 4 * doubles_;
  }

 private:
  GradientSums sums(const Arguments& arguments, std::int64_t task) const {
    const std::size_t at = static_cast<std::size_t>(task) * 4 * doubles_;
    return {arguments.scratch_at<double>(at), arguments.scratch_at<double>(at + doubles_),
            arguments.scratch_at<float>(at + 2 * doubles_),
            arguments.scratch_at<float>(at + 3 * doubles_)};
  }

  double epsilon_;
  Rows rows_;
  Parts parts_;
  std::size_t doubles_;
};

// dx = scale * (dy - weight * (from_dy + (x - mean) * from_x)), all but weight per channel.
struct InputGradientTerms {
  const float *mean, *scale, *from_dy, *from_x;
};

TOROID_CLONES void input_gradient(const float* x, const float* dy, const InputGradientTerms& terms,
                                  float weight, std::int64_t rows, std::int64_t channels,
                                  float* dx) {
  const float *mean = terms.mean, *scale = terms.scale;
  const float *from_dy = terms.from_dy, *from_x = terms.from_x;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * channels;
#pragma omp simd
    for (std::int64_t c = 0; c < channels; ++c) {
      const float mean_part = from_dy[c] + (x[at + c] - mean[c]) * from_x[c];
      dx[at + c] = scale[c] * (dy[at + c] - weight * mean_part);
    }
  }
}

TOROID_CLONES void scale_rows(const float* dy, const float* scale, std::int64_t rows,
                              std::int64_t channels, float* dx) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * channels;
#pragma omp simd
    for (std::int64_t c = 0; c < channels; ++c) dx[at + c] = scale[c] * dy[at + c];
  }
}

class InputGradientKernel : public Kernel {
 public:
  explicit InputGradientKernel(const NodeContext& context)
      : op_(context.op<BatchNormInputGradient>()),
        at_(op_.operands()),
        rows_(context.inputs[0].shape, context.inputs[2].shape[0]),
        statistic_bytes_(
            aligned(static_cast<std::size_t>(rows_.groups * rows_.channels) * sizeof(float))) {}

  void run(const Arguments& arguments) override {
    prepare(arguments);
    const std::int64_t unit = op_.weights ? rows_.per_example : rows_.per_group;
    parallel_ranges(rows_.total(), rows_.channels, [&](std::int64_t first, std::int64_t last) {
      rows_.for_each_unit(first, last, unit,
                          [&](std::int64_t i, std::int64_t from, std::int64_t to) {
                            rows_of_unit(arguments, i, from, to);
                          });
    });
  }
  std::size_t scratch_bytes() const override { return 3 * statistic_bytes_; }
  Reuse reuse(std::size_t input, std::size_t) const override {
    return input < 2 ? Reuse::kOverwrite : Reuse::kNone;
  }

 private:
  void prepare(const Arguments& arguments) const {
    const auto* variance = arguments.input<float>(3);
    const float* gamma = op_.gamma ? operand(arguments, at_.gamma) : nullptr;
    auto* scale = arguments.scratch_at<float>();
    auto* from_dy = arguments.scratch_at<float>(statistic_bytes_);
    auto* from_x = arguments.scratch_at<float>(2 * statistic_bytes_);
    for (std::int64_t i = 0; i < rows_.groups * rows_.channels; ++i) {
      const float inverse = inverse_deviation(variance[i], op_.epsilon);
      scale[i] = inverse * (gamma != nullptr ? gamma[i % rows_.channels] : 1.0F);
      if (!op_.sums) continue;
      const float share = 1.0F / std::max(operand(arguments, at_.sums + 2)[i], 1.0F);
      from_dy[i] = operand(arguments, at_.sums)[i] * share;
      from_x[i] = operand(arguments, at_.sums + 1)[i] * share * inverse;
    }
  }

  void rows_of_unit(const Arguments& arguments, std::int64_t unit, std::int64_t first,
                    std::int64_t last) const {
    const std::int64_t channels = rows_.channels, at = first * channels;
    const std::int64_t group = first / rows_.per_group * channels;
    const float *x = arguments.input<float>(0) + at, *dy = arguments.input<float>(1) + at;
    float* dx = arguments.output<float>() + at;
    const float* scale = arguments.scratch_at<float>() + group;
    const float weight = op_.weights ? operand(arguments, at_.weights)[unit] : 1.0F;
    // A skipped example may hold anything, so its x must not be multiplied by a weight of 0.
    if (!op_.sums || weight == 0) return scale_rows(dy, scale, last - first, channels, dx);
    const InputGradientTerms terms{arguments.input<float>(2) + group, scale,
                                   arguments.scratch_at<float>(statistic_bytes_) + group,
                                   arguments.scratch_at<float>(2 * statistic_bytes_) + group};
    input_gradient(x, dy, terms, weight, last - first, channels, dx);
  }

  static const float* operand(const Arguments& arguments, int i) {
    return arguments.input<float>(static_cast<std::size_t>(i));
  }

  BatchNormInputGradient op_;
  BatchNormInputGradient::Operands at_;
  Rows rows_;
  std::size_t statistic_bytes_;
};

}  // namespace

std::unique_ptr<Kernel> make_batch_norm_gradient_sums(const NodeContext& context) {
  return std::make_unique<GradientSumsKernel>(context);
}
std::unique_ptr<Kernel> make_batch_norm_input_gradient(const NodeContext& context) {
  return std::make_unique<InputGradientKernel>(context);
}

}  // namespace toroid::cpu
