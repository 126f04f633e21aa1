// Average pooling over windows; the average over a whole picture is global_average_pool of
// max_pool.h.
#pragma once

#include <algorithm>
#include <vector>

#include "toroid/graph/builder.h"
#include "toroid/ops/conv2d.h"

namespace toroid {

/// x [N,H,W,C] -> [N,OH,OW,C]: the sum of each window's pixels over their number. Zero padding
/// either counts (torchvision's Inception: the divisor is the window's area) or does not (Keras and
/// TensorFlow under SAME: only pixels of the picture). The padding must be smaller than the window,
/// so that each window holds a pixel.
struct AvgPool {
  static constexpr std::string_view kName = "avg_pool";
  std::array<std::int64_t, 2> window{2, 2};
  std::array<std::int64_t, 2> stride{2, 2};
  Padding padding{};
  bool count_include_padding = false;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("window", window);
    visit("stride", stride);
    visit("padding", padding);
    visit("count_include_padding", count_include_padding);
  }
};

/// dy [N,OH,OW,C] -> dx [N,H,W,C]: each dy, over its window's number of pixels, goes to all of
/// them. The input's height and width are attributes. Linear, so that AvgPool is its gradient.
struct AvgPoolGradient {
  static constexpr std::string_view kName = "avg_pool_gradient";
  std::array<std::int64_t, 2> window{2, 2};
  std::array<std::int64_t, 2> stride{2, 2};
  Padding padding{};
  bool count_include_padding = false;
  std::array<std::int64_t, 2> input_size{};

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("window", window);
    visit("stride", stride);
    visit("padding", padding);
    visit("count_include_padding", count_include_padding);
    visit("input_size", input_size);
  }
};

/// By what the sum of window i along one axis (0: rows, 1: columns) of `size` pixels is divided,
/// for i below `outputs`; a window's divisor is its rows' times its columns'.
template <class Pool>
std::vector<std::int64_t> window_counts(const Pool& pool, std::size_t axis, std::int64_t size,
                                        std::int64_t outputs) {
  std::vector<std::int64_t> counts;
  for (std::int64_t i = 0; i < outputs; ++i) {
    const std::int64_t first = i * pool.stride[axis] - pool.padding[2 * axis];
    const std::int64_t inside =
        std::min(first + pool.window[axis], size) - std::max<std::int64_t>(first, 0);
    counts.push_back(pool.count_include_padding ? pool.window[axis] : inside);
  }
  return counts;
}

Value avg_pool(Builder& builder, Value x, AvgPool attributes);

}  // namespace toroid
