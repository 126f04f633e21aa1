#include <cmath>

#include "toroid/backends/cpu/batch_norm_rows.h"
#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"
#include "toroid/ops/batch_norm.h"

namespace toroid::cpu {
namespace {

// What load_gradient needs of some channels.
template <class Mode>
struct ForwardLanes {
  Lanes mean[Mode::kParts], scale[Mode::kParts], shift[Mode::kParts];

  TOROID_INLINE ForwardLanes(const Affine& from, std::int64_t lanes) {
    load_per_channel<Mode>(from.mean, lanes, mean);
    load_per_channel<Mode>(from.scale, lanes, scale);
    load_per_channel<Mode>(from.shift, lanes, shift);
  }
};

// dy of one row, 0 where the relu let nothing through; `centred` becomes x - mean.
template <class Mode, bool kRelu, class T>
TOROID_INLINE void load_gradient(const T* x, const T* dy, std::int64_t lanes,
                                 const ForwardLanes<Mode>& forward, Lanes (&centred)[Mode::kParts],
                                 Lanes (&gradient)[Mode::kParts]) {
  load_row<Mode>(x, lanes, centred);
  load_row<Mode>(dy, lanes, gradient);
  for (std::int64_t p = 0; p < Mode::kParts; ++p) {
    centred[p] -= forward.mean[p];
    if constexpr (kRelu) {
      const Lanes y = centred[p] * forward.scale[p] + forward.shift[p];
      gradient[p] = y > 0 ? gradient[p] : Lanes{};
    }
  }
}

// Adds the sums of dy and of dy * (x - mean) over a strip's rows.
template <class Mode, bool kRelu, class T>
TOROID_INLINE void add_rows_through(const T* x, const T* dy, const Strip& strip,
                                    const Affine& forward, double* sum_dy, double* sum_dy_x) {
  constexpr std::int64_t kParts = Mode::kParts, kSums = 2;
  const std::int64_t stride = strip.stride, lanes = strip.lanes;
  const ForwardLanes<Mode> terms(forward, lanes);
  Lanes sums[kSums][kParts] = {}, products[kSums][kParts] = {}, centred[kParts], gradient[kParts];
  const auto add = [&](std::int64_t at, std::int64_t k) TOROID_INLINE_LAMBDA {
    load_gradient<Mode, kRelu>(x + at, dy + at, lanes, terms, centred, gradient);
    for (std::int64_t p = 0; p < kParts; ++p) {
      sums[k][p] += gradient[p];
      products[k][p] += gradient[p] * centred[p];
    }
  };
  std::int64_t r = 0, at = strip.at;
  for (; r + kSums <= strip.rows; r += kSums, at += kSums * stride) {
    for (std::int64_t k = 0; k < kSums; ++k) add(at + k * stride, k);
  }
  if (r < strip.rows) add(at, 0);
  for (std::int64_t p = 0; p < kParts; ++p) {
    const Lanes sum = sums[0][p] + sums[1][p], product = products[0][p] + products[1][p];
    for (std::int64_t i = 0, c = p; c < lanes; ++i, c += kParts) {
      sum_dy[c] += static_cast<double>(sum[i]);
      sum_dy_x[c] += static_cast<double>(product[i]);
    }
  }
}

template <class Mode, class T>
TOROID_INLINE void add_rows(const T* x, const T* dy, const Strip& strip, const Affine& forward,
                            double* sum_dy, double* sum_dy_x) {
  forward.relu ? add_rows_through<Mode, true>(x, dy, strip, forward, sum_dy, sum_dy_x)
               : add_rows_through<Mode, false>(x, dy, strip, forward, sum_dy, sum_dy_x);
}

TOROID_CLONES void add_strip(const float* x, const float* dy, const Strip& strip,
                             const Affine& forward, double* sum_dy, double* sum_dy_x) {
  TOROID_FOR_STRIP(float, strip, add_rows, x, dy, strip, forward, sum_dy, sum_dy_x);
}
TOROID_CLONES void add_strip(const BFloat16* x, const BFloat16* dy, const Strip& strip,
                             const Affine& forward, double* sum_dy, double* sum_dy_x) {
  TOROID_FOR_STRIP(BFloat16, strip, add_rows, x, dy, strip, forward, sum_dy, sum_dy_x);
}

template <class T>
class GradientSumsKernel : public Kernel {
 public:
  explicit GradientSumsKernel(const NodeContext& context)
      : op_(context.op<BatchNormGradientSums>()),
        at_(op_.operands()),
        strips_(context.inputs[0], context.input_layouts[0], context.inputs[2].shape[0], false),
        statistic_bytes_(aligned(static_cast<std::size_t>(strips_.groups() * strips_.channels()) *
                                 sizeof(float))),
        doubles_(aligned(static_cast<std::size_t>(strips_.width()) * sizeof(double))) {}

  void run(const Arguments& arguments) override {
    const auto *x = arguments.input<T>(0), *dy = arguments.input<T>(1);
    const auto *mean = arguments.input<float>(2), *variance = arguments.input<float>(3);
    auto* scale = arguments.scratch_at<float>();
    auto* shift = arguments.scratch_at<float>(statistic_bytes_);
    scale_and_shift(strips_, variance, op_.epsilon, operand(arguments, at_.gamma),
                    operand(arguments, at_.beta), scale, shift);
    const std::int64_t channels = strips_.channels(), width = strips_.width();
    strips_.for_each_part([&](std::int64_t task, std::int64_t group, std::int64_t block,
                              std::int64_t first, std::int64_t last) {
      double *sum_dy = sums(arguments, task), *sum_dy_x = sums(arguments, task, 1);
      std::fill_n(sum_dy, width, 0.0);
      std::fill_n(sum_dy_x, width, 0.0);
      strips_.for_each(group, block, first, last, [&](const Strip& strip) {
        const std::int64_t c = strip.channel - block * width;
        const std::int64_t g = group * channels + strip.channel;
        add_strip(x, dy, strip, {mean + g, scale + g, shift + g, op_.relu}, sum_dy + c,
                  sum_dy_x + c);
      });
    });
    const std::int64_t parts = strips_.parts();
    for (std::int64_t i = 0; i < strips_.groups() * channels; ++i) {
      double sum_dy = 0, sum_dy_x = 0;
      for (std::int64_t p = 0; p < parts; ++p) {
        const std::int64_t task = i / width * parts + p;
        sum_dy += sums(arguments, task)[i % width];
        sum_dy_x += sums(arguments, task, 1)[i % width];
      }
      arguments.output<float>(0)[i] = static_cast<float>(sum_dy);
      arguments.output<float>(1)[i] =
          static_cast<float>(sum_dy_x / std::sqrt(static_cast<double>(variance[i]) + op_.epsilon));
    }
  }
  std::size_t scratch_bytes() const override {
    return 2 * statistic_bytes_ + static_cast<std::size_t>(strips_.tasks()) * 2 * doubles_;
  }

 private:
  double* sums(const Arguments& arguments, std::int64_t task, std::int64_t which = 0) const {
    return arguments.scratch_at<double>(2 * statistic_bytes_ +
                                        static_cast<std::size_t>(2 * task + which) * doubles_);
  }

  BatchNormGradientSums op_;
  BatchNormGradientSums::Operands at_;
  Strips strips_;
  std::size_t statistic_bytes_, doubles_;
};

// dx = scale * (dy - weight * (from_dy + (x - mean) * from_x)), all but weight per channel.
struct Terms {
  const float *from_dy, *from_x;
  float weight;
};

template <class Mode, bool kRelu, class T>
TOROID_INLINE void gradient_rows_through(const T* x, const T* dy, const Strip& strip,
                                         const Affine& forward, const Terms& terms, T* dx) {
  constexpr std::int64_t kParts = Mode::kParts;
  const std::int64_t stride = strip.stride, lanes = strip.lanes;
  const ForwardLanes<Mode> values(forward, lanes);
  Lanes from_dy[kParts], from_x[kParts], centred[kParts], gradient[kParts];
  const auto for_each_row = [&](auto&& change) TOROID_INLINE_LAMBDA {
    for (std::int64_t r = 0, at = strip.at; r < strip.rows; ++r, at += stride) {
      load_gradient<Mode, kRelu>(x + at, dy + at, lanes, values, centred, gradient);
      for (std::int64_t p = 0; p < kParts; ++p) {
        change(p);
        gradient[p] *= values.scale[p];
      }
      store_row<Mode>(gradient, lanes, dx + at);
    }
  };
  // A skipped example may hold anything, so its x must not be multiplied by a weight of 0.
  if (terms.from_dy == nullptr || terms.weight == 0) {
    return for_each_row([](std::int64_t) TOROID_INLINE_LAMBDA {});
  }
  load_per_channel<Mode>(terms.from_dy, lanes, from_dy);
  load_per_channel<Mode>(terms.from_x, lanes, from_x);
  for (std::int64_t p = 0; p < kParts; ++p) {
    from_dy[p] *= terms.weight;
    from_x[p] *= terms.weight;
  }
  for_each_row([&](std::int64_t p)
                   TOROID_INLINE_LAMBDA { gradient[p] -= from_dy[p] + centred[p] * from_x[p]; });
}

template <class Mode, class T>
TOROID_INLINE void gradient_rows(const T* x, const T* dy, const Strip& strip, const Affine& forward,
                                 const Terms& terms, T* dx) {
  forward.relu ? gradient_rows_through<Mode, true>(x, dy, strip, forward, terms, dx)
               : gradient_rows_through<Mode, false>(x, dy, strip, forward, terms, dx);
}

TOROID_CLONES void gradient_strip(const float* x, const float* dy, const Strip& strip,
                                  const Affine& forward, const Terms& terms, float* dx) {
  TOROID_FOR_STRIP(float, strip, gradient_rows, x, dy, strip, forward, terms, dx);
}
TOROID_CLONES void gradient_strip(const BFloat16* x, const BFloat16* dy, const Strip& strip,
                                  const Affine& forward, const Terms& terms, BFloat16* dx) {
  TOROID_FOR_STRIP(BFloat16, strip, gradient_rows, x, dy, strip, forward, terms, dx);
}

template <class T>
class InputGradientKernel : public Kernel {
 public:
  explicit InputGradientKernel(const NodeContext& context)
      : op_(context.op<BatchNormInputGradient>()),
        at_(op_.operands()),
        strips_(context.inputs[0], context.input_layouts[0], context.inputs[2].shape[0],
                op_.weights),
        statistic_bytes_(aligned(static_cast<std::size_t>(strips_.groups() * strips_.channels()) *
                                 sizeof(float))) {}

  void run(const Arguments& arguments) override {
    prepare(arguments);
    const auto *x = arguments.input<T>(0), *dy = arguments.input<T>(1);
    const auto* mean = arguments.input<float>(2);
    const float* weights = op_.weights ? operand(arguments, at_.weights) : nullptr;
    auto* dx = arguments.output<T>();
    strips_.for_all_rows([&](std::int64_t group, std::int64_t block, std::int64_t first,
                             std::int64_t last) {
      strips_.for_each(group, block, first, last, [&](const Strip& strip) {
        const std::int64_t g = group * strips_.channels() + strip.channel;
        const Affine forward{mean + g, per_channel(arguments, 0) + g, per_channel(arguments, 1) + g,
                             op_.relu};
        const float weight = weights != nullptr ? weights[strip.example] : 1.0F;
        const float* from_dy = op_.sums ? per_channel(arguments, 2) + g : nullptr;
        gradient_strip(x, dy, strip, forward, {from_dy, per_channel(arguments, 3) + g, weight}, dx);
      });
    });
  }
  std::size_t scratch_bytes() const override { return 4 * statistic_bytes_; }
  Reuse reuse(std::size_t input, std::size_t) const override {
    return input < 2 ? Reuse::kOverwrite : Reuse::kNone;
  }

 private:
  float* per_channel(const Arguments& arguments, std::size_t which) const {
    return arguments.scratch_at<float>(which * statistic_bytes_);
  }

  // scale, shift, from_dy and from_x in scratch memory, each [G,C].
  void prepare(const Arguments& arguments) const {
    const auto* variance = arguments.input<float>(3);
    scale_and_shift(strips_, variance, op_.epsilon, operand(arguments, at_.gamma),
                    operand(arguments, at_.beta), per_channel(arguments, 0),
                    per_channel(arguments, 1));
    if (!op_.sums) return;
    for (std::int64_t i = 0; i < strips_.groups() * strips_.channels(); ++i) {
      const float share = 1.0F / std::max(operand(arguments, at_.sums + 2)[i], 1.0F);
      per_channel(arguments, 2)[i] = operand(arguments, at_.sums)[i] * share;
      per_channel(arguments, 3)[i] =
          operand(arguments, at_.sums + 1)[i] * share * inverse_deviation(variance[i], op_.epsilon);
    }
  }

  BatchNormInputGradient op_;
  BatchNormInputGradient::Operands at_;
  Strips strips_;
  std::size_t statistic_bytes_;
};

}  // namespace

std::unique_ptr<Kernel> make_batch_norm_gradient_sums(const NodeContext& context) {
  return make_for_activation<GradientSumsKernel>(context);
}
std::unique_ptr<Kernel> make_batch_norm_input_gradient(const NodeContext& context) {
  return make_for_activation<InputGradientKernel>(context);
}

}  // namespace toroid::cpu
