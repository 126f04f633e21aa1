// What the batch-norm kernels share: how an activation is cut into tasks.
#pragma once

#include <cmath>

#include "toroid/backends/cpu/kernel.h"
#include "toroid/backends/cpu/layout.h"
#include "toroid/backends/cpu/parallel.h"
#include "toroid/backends/cpu/vectors.h"

namespace toroid::cpu {

// A piece of an activation: neighbouring rows of one example and block of channels, and of each
// row the channels of one vector register.
struct Strip {
  std::int64_t at;  // where its first element lies
  std::int64_t rows;
  std::int64_t stride;   // from row to row, in elements
  std::int64_t lanes;    // at most kLanes
  std::int64_t channel;  // its first
  std::int64_t example;  // of the first row
};

// Rows of a strip at most. Their sums are formed in f32, in several accumulators, before they go on
// in f64; a strip is read twice for its variance, so it shall stay in the first-level cache.
inline constexpr std::int64_t kStripRows = 256;

// An activation in equal groups of examples. Rows that belong together, a task's, are those of one
// group and block in some examples or in a part of one.
class Strips {
 public:
  // A strip belongs to one example where the caller says so; else it goes on into the next one
  // where that follows in memory.
  Strips(const TensorType& x, Layout layout, std::int64_t groups, bool by_example)
      : planes_(x.shape, layout),
        groups_(groups),
        examples_(x.shape[0] / groups),
        lanes_(x.dtype == DType::bf16 && planes_.width % (2 * kLanes) == 0 ? 2 * kLanes : kLanes),
        run_(by_example || planes_.blocks > 1 ? planes_.pixels : examples_ * planes_.pixels) {}

  std::int64_t groups() const { return groups_; }
  std::int64_t channels() const { return planes_.channels(); }
  std::int64_t blocks() const { return planes_.blocks; }
  std::int64_t width() const { return planes_.width; }
  std::int64_t rows_per_group() const { return examples_ * planes_.pixels; }

  // Calls f(strip) for the rows first..last-1 of a group's block, up to kStripRows at a time; rows
  // count through the group's examples. Strips of the same rows follow each other.
  template <class F>
  TOROID_INLINE void for_each(std::int64_t group, std::int64_t block, std::int64_t first,
                              std::int64_t last, F&& f) const {
    for (std::int64_t row = first; row < last;) {
      const std::int64_t pixel = row % run_, example = group * examples_ + row / planes_.pixels;
      const std::int64_t rows = std::min({last - row, run_ - pixel, kStripRows});
      const std::int64_t at =
          planes_.at(group * examples_ + row / run_ * (run_ / planes_.pixels), block, pixel);
      for (std::int64_t c = 0; c < planes_.width; c += lanes_) {
        f(Strip{at + c, rows, planes_.width, std::min(lanes_, planes_.width - c),
                block * planes_.width + c, example});
      }
      row += rows;
    }
  }

  // For results that are independent of each other: calls f(group, block, first, last) for ranges
  // of rows that together are the whole activation, in parallel.
  template <class F>
  void for_all_rows(F&& f) const {
    const std::int64_t units = groups_ * blocks(), rows = rows_per_group();
    parallel_ranges(units * rows, width(), [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t r = first; r < last;) {
        const std::int64_t unit = r / rows, end = std::min(last, (unit + 1) * rows);
        f(unit / blocks(), unit % blocks(), r - unit * rows, end - unit * rows);
        r = end;
      }
    });
  }

  // For sums: the rows of each group and block in parts, whose number depends on the shape alone.
  std::int64_t parts() const {
    return std::clamp<std::int64_t>(reduction_parts(rows_per_group() * width()), 1,
                                    std::max<std::int64_t>(rows_per_group(), 1));
  }
  std::int64_t tasks() const { return groups_ * blocks() * parts(); }

  // Calls f(task, group, block, first, last) for each part, in parallel. Tasks are numbered by
  // group, block and part.
  template <class F>
  void for_each_part(F&& f) const {
    const std::int64_t parts = this->parts(), rows = rows_per_group();
    parallel_ranges(tasks(), rows / parts * width(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t unit = task / parts, p = task % parts;
        f(task, unit / blocks(), unit % blocks(), rows * p / parts, rows * (p + 1) / parts);
      }
    });
  }

 private:
  Planes planes_;
  std::int64_t groups_, examples_, lanes_;
  std::int64_t run_;  // rows that follow each other in memory
};

// Calls f<registers, arguments...>(...) as a strip has it.
#define TOROID_FOR_STRIP(T, strip, f, ...)                                  \
  do {                                                                      \
    if constexpr (std::is_same_v<T, BFloat16>) {                            \
      if ((strip).lanes == 2 * kLanes) return f<TwoRegisters>(__VA_ARGS__); \
    }                                                                       \
    if ((strip).lanes == kLanes) return f<OneRegister>(__VA_ARGS__);        \
    f<PartOfRegister>(__VA_ARGS__);                                         \
  } while (false)

inline float inverse_deviation(float variance, double epsilon) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(variance) + epsilon));
}

// The i-th operand, or null where there is none: i is -1.
inline const float* operand(const Arguments& arguments, int i) {
  return i < 0 ? nullptr : arguments.input<float>(static_cast<std::size_t>(i));
}

// What the forward pass does to some channels: (x - mean) * scale + shift [+ residual] [relu]. The
// relu lets through what is above 0, by which the backward pass finds it again.
struct Affine {
  const float *mean, *scale, *shift;
  bool relu;
};

// Its scale and shift for all channels, [G,C]; gamma and beta [C] may be null.
inline void scale_and_shift(const Strips& strips, const float* variance, double epsilon,
                            const float* gamma, const float* beta, float* scale, float* shift) {
  for (std::int64_t i = 0; i < strips.groups() * strips.channels(); ++i) {
    const std::int64_t c = i % strips.channels();
    scale[i] = inverse_deviation(variance[i], epsilon) * (gamma != nullptr ? gamma[c] : 1.0F);
    shift[i] = beta != nullptr ? beta[c] : 0.0F;
  }
}

}  // namespace toroid::cpu
