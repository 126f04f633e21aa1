#include "toroid/ops/batch_norm.h"

#include "toroid/backends/cpu/batch_norm_rows.h"
#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"

namespace toroid::cpu {
namespace {

// The running mean and centred second moment of one task's rows, by channel.
struct Moments {
  double *count, *mean, *moment;
};

template <bool kWhole, class T>
TOROID_INLINE void add_lanes(const T* x, const Strip& strip, double weight, double total,
                             Moments part) {
  const T* from = x + strip.at;
  const std::int64_t stride = strip.stride, rows = strip.rows, lanes = strip.lanes;
  const auto get = [=](std::int64_t row, Lanes& to)
                       TOROID_INLINE_LAMBDA { load_lanes<kWhole>(from + row * stride, lanes, to); };
  // Four sums at a time: an addition must wait for the one before it in the same sum.
  Lanes sum[4] = {}, square[4] = {}, value;
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    for (std::int64_t k = 0; k < 4; ++k) {
      get(r + k, value);
      sum[k] += value;
    }
  }
  for (; r < rows; ++r) {
    get(r, value);
    sum[0] += value;
  }
  const Lanes mean = ((sum[0] + sum[1]) + (sum[2] + sum[3])) / static_cast<float>(strip.rows);
  for (r = 0; r + 4 <= rows; r += 4) {
    for (std::int64_t k = 0; k < 4; ++k) {
      get(r + k, value);
      value -= mean;
      square[k] += value * value;
    }
  }
  for (; r < rows; ++r) {
    get(r, value);
    value -= mean;
    square[0] += value * value;
  }
  const Lanes moment = (square[0] + square[1]) + (square[2] + square[3]);
  // Chan, Golub and LeVeque: exact for any two parts.
  const double added = weight * static_cast<double>(strip.rows), share = added / (total + added);
  for (std::int64_t c = 0; c < strip.lanes; ++c) {
    const double d = static_cast<double>(mean[c]) - part.mean[c];
    part.mean[c] += d * share;
    part.moment[c] += weight * static_cast<double>(moment[c]) + d * d * (total * share);
  }
}

TOROID_CLONES void add_strip(const float* x, const Strip& strip, double weight, double total,
                             Moments part) {
  if (strip.lanes == kLanes) return add_lanes<true>(x, strip, weight, total, part);
  add_lanes<false>(x, strip, weight, total, part);
}
TOROID_CLONES void add_strip(const BFloat16* x, const Strip& strip, double weight, double total,
                             Moments part) {
  if (strip.lanes == kLanes) return add_lanes<true>(x, strip, weight, total, part);
  add_lanes<false>(x, strip, weight, total, part);
}

template <class T>
class StatisticsKernel : public Kernel {
 public:
  explicit StatisticsKernel(const NodeContext& context)
      : strips_(context.inputs[0].shape, context.input_layouts[0],
                context.op<BatchNormStatistics>().groups, context.inputs.size() == 2),
        weighted_(context.inputs.size() == 2),
        doubles_(aligned(static_cast<std::size_t>(strips_.width()) * sizeof(double))) {}

  void run(const Arguments& arguments) override {
    const auto* x = arguments.input<T>(0);
    const float* weights = weighted_ ? arguments.input<float>(1) : nullptr;
    strips_.for_each_part([&](std::int64_t task, std::int64_t group, std::int64_t block,
                              std::int64_t first, std::int64_t last) {
      const Moments part = moments(arguments, task);
      *part.count = 0;
      std::fill_n(part.mean, strips_.width(), 0.0);
      std::fill_n(part.moment, strips_.width(), 0.0);
      const std::int64_t base = block * strips_.width();
      double total = 0;
      strips_.for_each(group, block, first, last, [&](const Strip& strip) {
        const double weight = weighted_ ? weights[strip.example] : 1;
        if (weight == 0) return;
        const std::int64_t c = strip.channel - base;
        if (c == 0) total = *part.count;
        add_strip(x, strip, weight, total, {nullptr, part.mean + c, part.moment + c});
        if (c == 0) *part.count += weight * static_cast<double>(strip.rows);
      });
    });
    for (std::int64_t unit = 0; unit < strips_.groups() * strips_.blocks(); ++unit) {
      combine(arguments, unit);
    }
  }
  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(strips_.tasks()) * (64 + 2 * doubles_);
  }

 private:
  Moments moments(const Arguments& arguments, std::int64_t task) const {
    const std::size_t at = static_cast<std::size_t>(task) * (64 + 2 * doubles_);
    return {arguments.scratch_at<double>(at), arguments.scratch_at<double>(at + 64),
            arguments.scratch_at<double>(at + 64 + doubles_)};
  }

  // The parts of one group's block, in order.
  void combine(const Arguments& arguments, std::int64_t unit) const {
    const std::int64_t parts = strips_.parts(), width = strips_.width();
    const Moments all = moments(arguments, unit * parts);
    for (std::int64_t p = 1; p < parts; ++p) {
      const Moments part = moments(arguments, unit * parts + p);
      if (*part.count == 0) continue;
      const double share = *part.count / (*all.count + *part.count), both = *all.count * share;
      for (std::int64_t c = 0; c < width; ++c) {
        const double d = part.mean[c] - all.mean[c];
        all.mean[c] += d * share;
        all.moment[c] += part.moment[c] + d * d * both;
      }
      *all.count += *part.count;
    }
    for (std::int64_t c = 0; c < width; ++c) {
      const std::int64_t at = unit * width + c;
      arguments.output<float>(0)[at] = static_cast<float>(*all.count);
      arguments.output<float>(1)[at] = static_cast<float>(all.mean[c]);
      arguments.output<float>(2)[at] = static_cast<float>(all.moment[c]);
    }
  }

  Strips strips_;
  bool weighted_;
  std::size_t doubles_;
};

// What apply does to all rows of some channels: (x - mean) * scale + shift [+ residual] [relu].
struct Affine {
  const float *mean, *scale, *shift;
  bool relu;
};

template <bool kWhole, bool kResidual, bool kRelu, class T>
TOROID_INLINE void apply_lanes(const T* x, const T* residual, const Strip& strip,
                               const Affine& affine, T* y) {
  Lanes mean, scale, shift, value, other;
  const std::int64_t stride = strip.stride, lanes = strip.lanes;
  load_lanes<kWhole>(affine.mean, lanes, mean);
  load_lanes<kWhole>(affine.scale, lanes, scale);
  load_lanes<kWhole>(affine.shift, lanes, shift);
  for (std::int64_t r = 0, at = strip.at; r < strip.rows; ++r, at += stride) {
    load_lanes<kWhole>(x + at, lanes, value);
    value = (value - mean) * scale + shift;
    if constexpr (kResidual) {
      load_lanes<kWhole>(residual + at, lanes, other);
      value += other;
    }
    if constexpr (kRelu) value = value < 0 ? Lanes{} : value;  // NaN stays
    store_lanes<kWhole>(value, lanes, y + at);
  }
}

template <bool kWhole, class T>
TOROID_INLINE void apply_lanes(const T* x, const T* residual, const Strip& strip,
                               const Affine& affine, T* y) {
  if (residual == nullptr) {
    return affine.relu ? apply_lanes<kWhole, false, true>(x, residual, strip, affine, y)
                       : apply_lanes<kWhole, false, false>(x, residual, strip, affine, y);
  }
  affine.relu ? apply_lanes<kWhole, true, true>(x, residual, strip, affine, y)
              : apply_lanes<kWhole, true, false>(x, residual, strip, affine, y);
}

TOROID_CLONES void apply_strip(const float* x, const float* residual, const Strip& strip,
                               const Affine& affine, float* y) {
  if (strip.lanes == kLanes) return apply_lanes<true>(x, residual, strip, affine, y);
  apply_lanes<false>(x, residual, strip, affine, y);
}
TOROID_CLONES void apply_strip(const BFloat16* x, const BFloat16* residual, const Strip& strip,
                               const Affine& affine, BFloat16* y) {
  if (strip.lanes == kLanes) return apply_lanes<true>(x, residual, strip, affine, y);
  apply_lanes<false>(x, residual, strip, affine, y);
}

template <class T>
class ApplyKernel : public Kernel {
 public:
  explicit ApplyKernel(const NodeContext& context)
      : op_(context.op<BatchNormApply>()),
        at_(op_.operands()),
        strips_(context.inputs[0].shape, context.input_layouts[0], context.inputs[1].shape[0],
                false),
        statistic_bytes_(aligned(static_cast<std::size_t>(strips_.groups() * strips_.channels()) *
                                 sizeof(float))) {}

  void run(const Arguments& arguments) override {
    const std::int64_t channels = strips_.channels();
    const Affine affine = prepare(arguments);
    const auto* x = arguments.input<T>(0);
    const T* residual =
        op_.residual ? arguments.input<T>(static_cast<std::size_t>(at_.residual)) : nullptr;
    auto* y = arguments.output<T>();
    strips_.for_all_rows(
        [&](std::int64_t group, std::int64_t block, std::int64_t first, std::int64_t last) {
          strips_.for_each(group, block, first, last, [&](const Strip& strip) {
            const std::int64_t c = group * channels + strip.channel;
            apply_strip(x, residual, strip,
                        {affine.mean + c, affine.scale + c, affine.shift + c, affine.relu}, y);
          });
        });
  }
  std::size_t scratch_bytes() const override { return 2 * statistic_bytes_; }
  Reuse reuse(std::size_t input, std::size_t) const override {
    const bool activation = input == 0 || static_cast<int>(input) == at_.residual;
    return activation ? Reuse::kOverwrite : Reuse::kNone;
  }

 private:
  Affine prepare(const Arguments& arguments) const {
    const auto* variance = arguments.input<float>(2);
    const float* gamma = optional(arguments, at_.gamma);
    const float* beta = optional(arguments, at_.beta);
    auto* scale = arguments.scratch_at<float>();
    auto* shift = arguments.scratch_at<float>(statistic_bytes_);
    const std::int64_t channels = strips_.channels();
    for (std::int64_t i = 0; i < strips_.groups() * channels; ++i) {
      scale[i] = inverse_deviation(variance[i], op_.epsilon) *
                 (gamma != nullptr ? gamma[i % channels] : 1.0F);
      shift[i] = beta != nullptr ? beta[i % channels] : 0.0F;
    }
    return {arguments.input<float>(1), scale, shift, op_.relu};
  }

  static const float* optional(const Arguments& arguments, int operand) {
    return operand < 0 ? nullptr : arguments.input<float>(static_cast<std::size_t>(operand));
  }

  BatchNormApply op_;
  BatchNormApply::Operands at_;
  Strips strips_;
  std::size_t statistic_bytes_;
};

}  // namespace

std::unique_ptr<Kernel> make_batch_norm_statistics(const NodeContext& context) {
  return make_for_activation<StatisticsKernel>(context);
}
std::unique_ptr<Kernel> make_batch_norm_apply(const NodeContext& context) {
  return make_for_activation<ApplyKernel>(context);
}

}  // namespace toroid::cpu
