// Max pooling, and global average pooling as a composition.
#pragma once

#include "toroid/graph/builder.h"
#include "toroid/ops/conv2d.h"

namespace toroid {

/// x [N,H,W,C] -> [N,OH,OW,C]: the largest element of each window; padding never wins. The padding
/// must be smaller than the window, so that each window holds an element.
struct MaxPool {
  static constexpr std::string_view kName = "max_pool";
  std::array<std::int64_t, 2> window{2, 2};
  std::array<std::int64_t, 2> stride{2, 2};
  Padding padding{};

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("window", window);
    visit("stride", stride);
    visit("padding", padding);
  }
};

/// x, dy -> dx: each dy goes to the first largest element of its window, in row-major order.
struct MaxPoolGradient {
  static constexpr std::string_view kName = "max_pool_gradient";
  std::array<std::int64_t, 2> window{2, 2};
  std::array<std::int64_t, 2> stride{2, 2};
  Padding padding{};

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("window", window);
    visit("stride", stride);
    visit("padding", padding);
  }
};

Value max_pool(Builder& builder, Value x, MaxPool attributes);
/// x [N,H,W,C] -> [N,C]: the mean over height and width.
Value global_average_pool(Builder& builder, Value x);

}  // namespace toroid
