// The loss of classification, and counting what was right.
#pragma once

#include "toroid/graph/builder.h"

namespace toroid {

/// logits [N,K], labels i32 [N] in 0..K-1 -> loss per example [N]:
///   -sum_k t_k log softmax(logits)_k, t = (1 - s) onehot(label) + s / K, s the label smoothing
/// (Szegedy et al., 2016), computed from logits - max(logits).
struct SoftmaxCrossEntropy {
  static constexpr std::string_view kName = "softmax_cross_entropy";
  double label_smoothing = 0;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("label_smoothing", label_smoothing);
  }
};

/// logits [N,K], labels [N], dloss [N] -> dlogits = dloss * (softmax(logits) - t).
struct SoftmaxCrossEntropyGradient {
  static constexpr std::string_view kName = "softmax_cross_entropy_gradient";
  double label_smoothing = 0;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("label_smoothing", label_smoothing);
  }
};

/// logits [N,K], labels i32 [N] -> [N], in the logits' type: 1 where fewer than k classes come
/// before the label, else 0. A class comes before when its logit is larger, or equal with a lower
/// index; a NaN logit of the label comes last.
struct InTopK {
  static constexpr std::string_view kName = "in_top_k";
  std::int64_t k = 1;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("k", k);
  }
};

Value softmax_cross_entropy(Builder& builder, Value logits, Value labels, double label_smoothing);
Value in_top_k(Builder& builder, Value logits, Value labels, std::int64_t k);

}  // namespace toroid
