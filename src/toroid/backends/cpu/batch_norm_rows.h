// What the batch-norm kernels share: activations as rows of channels, and how sums over rows are
// split.
#pragma once

#include <cmath>

#include "toroid/backends/cpu/parallel.h"
#include "toroid/base/shape.h"

namespace toroid::cpu {

// Rows that are added in f32 before the sum goes on in f64.
inline constexpr std::int64_t kBlock = 64;

// x [N,...,C] as rows of C elements in equal groups.
struct Rows {
  std::int64_t groups, per_group, per_example, channels;

  Rows(const Shape& x, std::int64_t group_count)
      : groups(group_count), per_group(1), per_example(1), channels(x.back()) {
    for (int axis = 1; axis + 1 < x.rank(); ++axis) per_example *= x[axis];
    per_group = x[0] / groups * per_example;
  }

  std::int64_t total() const { return groups * per_group; }

  // Cuts the rows from `first` to `last` where a multiple of `unit` begins.
  template <class F>
  void for_each_unit(std::int64_t first, std::int64_t last, std::int64_t unit, F&& f) const {
    for (std::int64_t r = first; r < last;) {
      const std::int64_t end = std::min(last, (r / unit + 1) * unit);
      f(r / unit, r, end);
      r = end;
    }
  }
};

// How sums over a group's rows are split: into parts, whose number depends on the shape alone.
struct Parts {
  std::int64_t per_group;

  explicit Parts(const Rows& rows)
      : per_group(std::clamp<std::int64_t>(reduction_parts(rows.per_group * rows.channels), 1,
                                           std::max<std::int64_t>(rows.per_group, 1))) {}

  // Calls f(task, first row, last row) for each part of each group, in parallel.
  template <class F>
  void run(const Rows& rows, F&& f) const {
    const std::int64_t each = rows.per_group / per_group * rows.channels;
    parallel_ranges(rows.groups * per_group, each, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t start = task / per_group * rows.per_group, p = task % per_group;
        f(task, start + rows.per_group * p / per_group,
          start + rows.per_group * (p + 1) / per_group);
      }
    });
  }
};

inline float inverse_deviation(float variance, double epsilon) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(variance) + epsilon));
}

}  // namespace toroid::cpu
