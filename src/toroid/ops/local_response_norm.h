// Local response normalization across channels: Krizhevsky, Sutskever, Hinton, "ImageNet
// Classification with Deep Convolutional Neural Networks", NIPS 2012, section 3.3.
#pragma once

#include "toroid/graph/builder.h"

namespace toroid {

/// x [N,H,W,C] -> the same type:
///   y[c] = x[c] / s[c]^beta,  s[c] = k + alpha * sum of x[j]^2 over |j - c| <= size / 2, 0 <= j <
///   C
/// for each pixel. alpha is the paper's, as in TensorFlow; PyTorch and Caffe divide theirs by
/// `size`. The defaults are the paper's.
struct LocalResponseNorm {
  static constexpr std::string_view kName = "local_response_norm";
  std::int64_t size = 5;  ///< channels that count, odd
  double k = 2;
  double alpha = 1e-4;
  double beta = 0.75;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("size", size);
    visit("k", k);
    visit("alpha", alpha);
    visit("beta", beta);
  }
};

/// x, dy -> dx:
///   dx[c] = dy[c] / s[c]^beta - 2 alpha beta x[c] * sum of dy[j] x[j] / s[j]^(beta+1) over the
///   same j
struct LocalResponseNormGradient {
  static constexpr std::string_view kName = "local_response_norm_gradient";
  std::int64_t size = 5;
  double k = 2;
  double alpha = 1e-4;
  double beta = 0.75;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("size", size);
    visit("k", k);
    visit("alpha", alpha);
    visit("beta", beta);
  }
};

Value local_response_norm(Builder& builder, Value x, LocalResponseNorm attributes);

}  // namespace toroid
