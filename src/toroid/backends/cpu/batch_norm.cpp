#include "toroid/ops/batch_norm.h"

#include "toroid/backends/cpu/batch_norm_rows.h"
#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"

namespace toroid::cpu {
namespace {

// The running mean and centred second moment of one part, and room for those of a block.
struct Moments {
  double *mean, *moment;
  float *block_mean, *block_moment;
  double count = 0;
};

TOROID_CLONES void add_block(const float* x, std::int64_t rows, std::int64_t channels,
                             double weight, Moments& part) {
  float *mean = part.block_mean, *moment = part.block_moment;
  std::fill_n(mean, channels, 0.0F);
  std::fill_n(moment, channels, 0.0F);
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* row = x + r * channels;
#pragma omp simd
    for (std::int64_t c = 0; c < channels; ++c) mean[c] += row[c];
  }
  const float scale = 1.0F / static_cast<float>(rows);
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) mean[c] *= scale;
  for (std::int64_t r = 0; r < rows; ++r) {
    const float* row = x + r * channels;
#pragma omp simd
    for (std::int64_t c = 0; c < channels; ++c) {
      const float d = row[c] - mean[c];
      moment[c] += d * d;
    }
  }
  // Chan, Golub and LeVeque: exact for any two parts.
  const double added = weight * static_cast<double>(rows), total = part.count + added;
  const double share = added / total, both = part.count * share;
#pragma omp simd
  for (std::int64_t c = 0; c < channels; ++c) {
    const double d = static_cast<double>(mean[c]) - part.mean[c];
    part.mean[c] += d * share;
    part.moment[c] += weight * static_cast<double>(moment[c]) + d * d * both;
  }
  part.count = total;
}

class StatisticsKernel : public Kernel {
 public:
  explicit StatisticsKernel(const NodeContext& context)
      : rows_(context.inputs[0].shape, context.op<BatchNormStatistics>().groups),
        parts_(rows_),
        weighted_(context.inputs.size() == 2),
        doubles_(aligned(static_cast<std::size_t>(rows_.channels) * sizeof(double))),
        part_bytes_(64 + 4 * doubles_) {}

  void run(const Arguments& arguments) override {
    parts_.run(rows_, [&](std::int64_t task, std::int64_t first, std::int64_t last) {
      sum_part(arguments, task, first, last);
    });
    for (std::int64_t g = 0; g < rows_.groups; ++g) combine(arguments, g);
  }
  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(rows_.groups * parts_.per_group) * part_bytes_;
  }

 private:
  Moments moments(const Arguments& arguments, std::int64_t task) const {
    const std::size_t at = static_cast<std::size_t>(task) * part_bytes_;
    return {arguments.scratch_at<double>(at + 64), arguments.scratch_at<double>(at + 64 + doubles_),
            arguments.scratch_at<float>(at + 64 + 2 * doubles_),
            arguments.scratch_at<float>(at + 64 + 3 * doubles_)};
  }
  double& count(const Arguments& arguments, std::int64_t task) const {
    return *arguments.scratch_at<double>(static_cast<std::size_t>(task) * part_bytes_);
  }

  void sum_part(const Arguments& arguments, std::int64_t task, std::int64_t first,
                std::int64_t last) const {
    const auto* x = arguments.input<float>(0);
    const float* weights = weighted_ ? arguments.input<float>(1) : nullptr;
    Moments part = moments(arguments, task);
    std::fill_n(part.mean, rows_.channels, 0.0);
    std::fill_n(part.moment, rows_.channels, 0.0);
    const auto add = [&](std::int64_t from, std::int64_t to, double weight) {
      for (std::int64_t r = from; r < to; r += kBlock) {
        add_block(x + r * rows_.channels, std::min(kBlock, to - r), rows_.channels, weight, part);
      }
    };
    if (weighted_) {
      rows_.for_each_unit(first, last, rows_.per_example,
                          [&](std::int64_t example, std::int64_t from, std::int64_t to) {
                            if (weights[example] != 0) add(from, to, weights[example]);
                          });
    } else {
      add(first, last, 1);
    }
    count(arguments, task) = part.count;
  }

  void combine(const Arguments& arguments, std::int64_t group) const {
    const Moments all = moments(arguments, group * parts_.per_group);
    double total = count(arguments, group * parts_.per_group);
    for (std::int64_t p = 1; p < parts_.per_group; ++p) {
      const std::int64_t task = group * parts_.per_group + p;
      const Moments part = moments(arguments, task);
      const double added = count(arguments, task);
      if (added == 0) continue;
      const double share = added / (total + added), both = total * share;
      for (std::int64_t c = 0; c < rows_.channels; ++c) {
        const double d = part.mean[c] - all.mean[c];
        all.mean[c] += d * share;
        all.moment[c] += part.moment[c] + d * d * both;
      }
      total += added;
    }
    for (std::int64_t c = 0; c < rows_.channels; ++c) {
      const std::int64_t at = group * rows_.channels + c;
      arguments.output<float>(0)[at] = static_cast<float>(total);
      arguments.output<float>(1)[at] = static_cast<float>(all.mean[c]);
      arguments.output<float>(2)[at] = static_cast<float>(all.moment[c]);
    }
  }

  Rows rows_;
  Parts parts_;
  bool weighted_;
  std::size_t doubles_, part_bytes_;
};

template <bool kResidual, bool kRelu>
TOROID_INLINE void apply_rows(const float* x, const float* residual, const float* mean,
                              const float* scale, const float* shift, std::int64_t rows,
                              std::int64_t channels, float* y) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * channels;
#pragma omp simd
    for (std::int64_t c = 0; c < channels; ++c) {
      float value = (x[at + c] - mean[c]) * scale[c] + shift[c];
      if constexpr (kResidual) value += residual[at + c];
      if constexpr (kRelu) value = value < 0 ? 0 : value;  // NaN stays
      y[at + c] = value;
    }
  }
}

TOROID_CLONES void apply(const float* x, const float* residual, bool relu, const float* mean,
                         const float* scale, const float* shift, std::int64_t rows,
                         std::int64_t channels, float* y) {
  if (residual != nullptr && relu) {
    return apply_rows<true, true>(x, residual, mean, scale, shift, rows, channels, y);
  }
  if (residual != nullptr) {
    return apply_rows<true, false>(x, residual, mean, scale, shift, rows, channels, y);
  }
  if (relu) return apply_rows<false, true>(x, residual, mean, scale, shift, rows, channels, y);
  apply_rows<false, false>(x, residual, mean, scale, shift, rows, channels, y);
}

class ApplyKernel : public Kernel {
 public:
  explicit ApplyKernel(const NodeContext& context)
      : op_(context.op<BatchNormApply>()),
        at_(op_.operands()),
        rows_(context.inputs[0].shape, context.inputs[1].shape[0]),
        statistic_bytes_(
            aligned(static_cast<std::size_t>(rows_.groups * rows_.channels) * sizeof(float))) {}

  void run(const Arguments& arguments) override {
    const auto *x = arguments.input<float>(0), *mean = arguments.input<float>(1);
    const auto* variance = arguments.input<float>(2);
    const float *gamma = optional(arguments, at_.gamma), *beta = optional(arguments, at_.beta);
    const float* residual = optional(arguments, at_.residual);
    auto* scale = arguments.scratch_at<float>();
    auto* shift = arguments.scratch_at<float>(statistic_bytes_);
    const std::int64_t channels = rows_.channels;
    for (std::int64_t i = 0; i < rows_.groups * channels; ++i) {
      scale[i] = inverse_deviation(variance[i], op_.epsilon) *
                 (gamma != nullptr ? gamma[i % channels] : 1.0F);
      shift[i] = beta != nullptr ? beta[i % channels] : 0.0F;
    }
    auto* y = arguments.output<float>();
    parallel_ranges(rows_.total(), channels, [&](std::int64_t first, std::int64_t last) {
      rows_.for_each_unit(
          first, last, rows_.per_group, [&](std::int64_t g, std::int64_t from, std::int64_t to) {
            apply(x + from * channels, residual != nullptr ? residual + from * channels : nullptr,
                  op_.relu, mean + g * channels, scale + g * channels, shift + g * channels,
                  to - from, channels, y + from * channels);
          });
    });
  }
  std::size_t scratch_bytes() const override { return 2 * statistic_bytes_; }
  Reuse reuse(std::size_t input, std::size_t) const override {
    const bool activation = input == 0 || static_cast<int>(input) == at_.residual;
    return activation ? Reuse::kOverwrite : Reuse::kNone;
  }

 private:
  static const float* optional(const Arguments& arguments, int operand) {
    return operand < 0 ? nullptr : arguments.input<float>(static_cast<std::size_t>(operand));
  }

  BatchNormApply op_;
  BatchNormApply::Operands at_;
  Rows rows_;
  std::size_t statistic_bytes_;
};

}  // namespace

std::unique_ptr<Kernel> make_batch_norm_statistics(const NodeContext& context) {
  return std::make_unique<StatisticsKernel>(context);
}
std::unique_ptr<Kernel> make_batch_norm_apply(const NodeContext& context) {
  return std::make_unique<ApplyKernel>(context);
}

}  // namespace toroid::cpu
