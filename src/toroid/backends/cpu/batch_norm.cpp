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

template <class Mode, class T>
TOROID_INLINE void add_rows(const T* x, const Strip& strip, double weight, double total,
                            Moments part) {
  constexpr std::int64_t kParts = Mode::kParts;
  const T* from = x + strip.at;
  const std::int64_t stride = strip.stride, rows = strip.rows, lanes = strip.lanes;
  // Several sums at a time: an addition must wait for the one before it in the same sum.
  constexpr std::int64_t kSums = 4;
  Lanes sums[kSums][kParts] = {}, squares[kSums][kParts] = {}, value[kParts], mean[kParts];
  const auto add = [&](std::int64_t row, std::int64_t k) TOROID_INLINE_LAMBDA {
    load_row<Mode>(from + row * stride, lanes, value);
    for (std::int64_t p = 0; p < kParts; ++p) sums[k][p] += value[p];
  };
  const auto add_square = [&](std::int64_t row, std::int64_t k) TOROID_INLINE_LAMBDA {
    load_row<Mode>(from + row * stride, lanes, value);
    for (std::int64_t p = 0; p < kParts; ++p) {
      value[p] -= mean[p];
      squares[k][p] += value[p] * value[p];
    }
  };
  std::int64_t r = 0;
  for (; r + kSums <= rows; r += kSums) {
    for (std::int64_t k = 0; k < kSums; ++k) add(r + k, k);
  }
  for (; r < rows; ++r) add(r, 0);
  for (std::int64_t p = 0; p < kParts; ++p) {
    mean[p] = ((sums[0][p] + sums[1][p]) + (sums[2][p] + sums[3][p])) / static_cast<float>(rows);
  }
  for (r = 0; r + kSums <= rows; r += kSums) {
    for (std::int64_t k = 0; k < kSums; ++k) add_square(r + k, k);
  }
  for (; r < rows; ++r) add_square(r, 0);
  // Chan, Golub and LeVeque: exact for any two parts.
  const double added = weight * static_cast<double>(rows), share = added / (total + added);
  for (std::int64_t p = 0; p < kParts; ++p) {
    const Lanes moment = (squares[0][p] + squares[1][p]) + (squares[2][p] + squares[3][p]);
    for (std::int64_t i = 0, c = p; c < lanes; ++i, c += kParts) {
      const double d = static_cast<double>(mean[p][i]) - part.mean[c];
      part.mean[c] += d * share;
      part.moment[c] += weight * static_cast<double>(moment[i]) + d * d * (total * share);
    }
  }
}

TOROID_CLONES void add_strip(const float* x, const Strip& strip, double weight, double total,
                             Moments part) {
  TOROID_FOR_STRIP(float, strip, add_rows, x, strip, weight, total, part);
}
TOROID_CLONES void add_strip(const BFloat16* x, const Strip& strip, double weight, double total,
                             Moments part) {
  TOROID_FOR_STRIP(BFloat16, strip, add_rows, x, strip, weight, total, part);
}

template <class T>
class StatisticsKernel : public Kernel {
 public:
  explicit StatisticsKernel(const NodeContext& context)
      : strips_(context.inputs[0], context.input_layouts[0],
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

template <class Mode, bool kResidual, bool kRelu, class T>
TOROID_INLINE void apply_rows(const T* x, const T* residual, const Strip& strip,
                              const Affine& affine, T* y) {
  constexpr std::int64_t kParts = Mode::kParts;
  Lanes mean[kParts], scale[kParts], shift[kParts], value[kParts], other[kParts];
  const std::int64_t stride = strip.stride, lanes = strip.lanes;
  load_per_channel<Mode>(affine.mean, lanes, mean);
  load_per_channel<Mode>(affine.scale, lanes, scale);
  load_per_channel<Mode>(affine.shift, lanes, shift);
  for (std::int64_t r = 0, at = strip.at; r < strip.rows; ++r, at += stride) {
    load_row<Mode>(x + at, lanes, value);
    if constexpr (kResidual) load_row<Mode>(residual + at, lanes, other);
    for (std::int64_t p = 0; p < kParts; ++p) {
      value[p] = (value[p] - mean[p]) * scale[p] + shift[p];
      if constexpr (kResidual) value[p] += other[p];
      if constexpr (kRelu) value[p] = value[p] < 0 ? Lanes{} : value[p];  // NaN stays
    }
    store_row<Mode>(value, lanes, y + at);
  }
}

template <class Mode, class T>
TOROID_INLINE void apply_rows(const T* x, const T* residual, const Strip& strip,
                              const Affine& affine, T* y) {
  if (residual == nullptr) {
    return affine.relu ? apply_rows<Mode, false, true>(x, residual, strip, affine, y)
                       : apply_rows<Mode, false, false>(x, residual, strip, affine, y);
  }
  affine.relu ? apply_rows<Mode, true, true>(x, residual, strip, affine, y)
              : apply_rows<Mode, true, false>(x, residual, strip, affine, y);
}

TOROID_CLONES void apply_strip(const float* x, const float* residual, const Strip& strip,
                               const Affine& affine, float* y) {
  TOROID_FOR_STRIP(float, strip, apply_rows, x, residual, strip, affine, y);
}
TOROID_CLONES void apply_strip(const BFloat16* x, const BFloat16* residual, const Strip& strip,
                               const Affine& affine, BFloat16* y) {
  TOROID_FOR_STRIP(BFloat16, strip, apply_rows, x, residual, strip, affine, y);
}

template <class T>
class ApplyKernel : public Kernel {
 public:
  explicit ApplyKernel(const NodeContext& context)
      : op_(context.op<BatchNormApply>()),
        at_(op_.operands()),
        strips_(context.inputs[0], context.input_layouts[0], context.inputs[1].shape[0], false),
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
    auto* scale = arguments.scratch_at<float>();
    auto* shift = arguments.scratch_at<float>(statistic_bytes_);
    scale_and_shift(strips_, arguments.input<float>(2), op_.epsilon, operand(arguments, at_.gamma),
                    operand(arguments, at_.beta), scale, shift);
    return {arguments.input<float>(1), scale, shift, op_.relu};
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
