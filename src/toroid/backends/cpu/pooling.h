// What the pools share: where their windows lie, and memory for pooling bf16 in f32.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "toroid/backends/cpu/kernel.h"
#include "toroid/backends/cpu/layout.h"
#include "toroid/backends/cpu/parallel.h"
#include "toroid/ops/conv2d.h"

namespace toroid::cpu {

/// The part of a window that lies inside the picture; bottom and right excluded.
struct PoolRectangle {
  std::int64_t top, bottom, left, right;
};

/// x [n,h,w,c] and y [n,oh,ow,c], the windows' place over x. Of activations in blocks of channels,
/// each block counts as an example.
struct PoolGeometry {
  std::int64_t n, h, w, c, oh, ow;
  std::array<std::int64_t, 2> window, stride;
  Padding padding;

  template <class PoolOp>
  PoolGeometry(const PoolOp& op, const Shape& x, Layout layout)
      : h(x[1]), w(x[2]), window(op.window), stride(op.stride), padding(op.padding) {
    const auto out = window_output({h, w}, window, stride, padding);
    oh = out[0];
    ow = out[1];
    const Planes planes(x, layout);
    n = planes.examples * planes.blocks;
    c = planes.width;
  }

  PoolRectangle inside(std::int64_t i, std::int64_t j) const {
    const std::int64_t top = i * stride[0] - padding[0], left = j * stride[1] - padding[2];
    return {std::max<std::int64_t>(top, 0), std::min(top + window[0], h),
            std::max<std::int64_t>(left, 0), std::min(left + window[1], w)};
  }
  /// Of x's type.
  template <class T>
  const T* pixel(const T* x, std::int64_t example, std::int64_t a, std::int64_t b) const {
    return x + ((example * h + a) * w + b) * c;
  }
};

/// bf16 pictures are pooled in f32, example by example: scratch memory of each thread for the f32
/// copies of one of x and one of y.
class WideCopies {
 public:
  WideCopies(std::int64_t x_elements, std::int64_t y_elements)
      : x_bytes_(aligned(static_cast<std::size_t>(x_elements) * sizeof(float))),
        y_bytes_(aligned(static_cast<std::size_t>(y_elements) * sizeof(float))) {}

  std::size_t bytes() const {
    return (x_bytes_ + y_bytes_) * static_cast<std::size_t>(omp_get_max_threads());
  }
  float* x(const Arguments& arguments) const {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    return arguments.scratch_at<float>(thread * (x_bytes_ + y_bytes_));
  }
  float* y(const Arguments& arguments) const { return x(arguments) + x_bytes_ / sizeof(float); }

 private:
  std::size_t x_bytes_, y_bytes_;
};

}  // namespace toroid::cpu
