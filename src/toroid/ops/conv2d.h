// 2-D convolution (cross-correlation, as in every deep-learning library) and its two gradients.
#pragma once

#include <array>

#include "toroid/graph/builder.h"

namespace toroid {

/// Zero padding in pixels: top, bottom, left, right.
using Padding = std::array<std::int64_t, 4>;

/// Height and width of a convolution's or pool's output; Error when the padded input is smaller
/// than the window.
std::array<std::int64_t, 2> window_output(std::array<std::int64_t, 2> input,
                                          std::array<std::int64_t, 2> window,
                                          std::array<std::int64_t, 2> stride, Padding padding);

/// TensorFlow's and Keras' SAME: output = ceil(input / stride); an odd pixel goes below and right.
Padding same_padding(std::array<std::int64_t, 2> input, std::array<std::int64_t, 2> window,
                     std::array<std::int64_t, 2> stride);

/// x [N,H,W,C], kernel [kh,kw,C/G,K] -> [N,OH,OW,K], in G groups of channels and filters:
///   y[n,i,j,k] = sum over a,b,c of x[n, i*sh + a - top, j*sw + b - left, g*C/G + c] *
///                kernel[a,b,c,k],    g = k / (K/G) the filter's group
/// G = 1 is the usual convolution, G = C the depthwise one. C and K must be multiples of G.
struct Conv2d {
  static constexpr std::string_view kName = "conv2d";
  std::array<std::int64_t, 2> stride{1, 1};
  Padding padding{};
  std::int64_t groups = 1;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("stride", stride);
    visit("padding", padding);
    if (groups != 1) visit("groups", groups);
  }
};

/// dy [N,OH,OW,K], kernel [kh,kw,C/G,K] -> dx [N,H,W,C]; the input's height and width are
/// attributes, since several inputs give the same output size when the stride is above one.
struct Conv2dInputGradient {
  static constexpr std::string_view kName = "conv2d_input_gradient";
  std::array<std::int64_t, 2> stride{1, 1};
  Padding padding{};
  std::array<std::int64_t, 2> input_size{};
  std::int64_t groups = 1;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("stride", stride);
    visit("padding", padding);
    visit("input_size", input_size);
    if (groups != 1) visit("groups", groups);
  }
};

/// x [N,H,W,C], dy [N,OH,OW,K] -> dkernel [kh,kw,C/G,K]; f32 where x and dy are bf16.
struct Conv2dKernelGradient {
  static constexpr std::string_view kName = "conv2d_kernel_gradient";
  std::array<std::int64_t, 2> stride{1, 1};
  Padding padding{};
  std::array<std::int64_t, 2> kernel_size{};
  std::int64_t groups = 1;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("stride", stride);
    visit("padding", padding);
    visit("kernel_size", kernel_size);
    if (groups != 1) visit("groups", groups);
  }
};

Value conv2d(Builder& builder, Value x, Value kernel, Conv2d attributes);

}  // namespace toroid
