// Batch normalization in its parts (Ioffe and Szegedy, 2015), so that groups of replicas, masks and
// fusion can reach inside. x is [N,...,C]; all axes but the last are normalised over.
//
// The N examples form G equal groups of consecutive examples ("groups inside a replica"); each has
// its own statistics. Where a group spans replicas, all-reduces between the parts combine them
// (batch_norm_moments below), so that G is 1 then.
//
// Statistics are [G,C]. The count is [G,C] too, equal along C, so that no broadcasting is needed.
// Statistics, gamma, beta and weights are of x's dtype, but f32 where that is bf16.
#pragma once

#include "toroid/graph/builder.h"

namespace toroid {

/// x [N,...,C] [, weights [N]] -> count, mean, moment, each [G,C]:
///   count  = sum of the weights times the elements per example and channel
///   mean   = weighted mean; 0 where the count is 0
///   moment = sum of weight * (x - mean)^2, the centred second moment, never E[x^2] - E[x]^2
struct BatchNormStatistics {
  static constexpr std::string_view kName = "batch_norm_statistics";
  std::int64_t groups = 1;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("groups", groups);
  }
};

/// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta [+ residual] [then relu].
/// Operands, each present where its attribute says so:
///   x, mean [G,C], variance [G,C] [, gamma [C]] [, beta [C]] [, residual like x]
///   [, count [G,C] [, weights [N]]]
/// count and weights do not touch the result: with a count, mean and variance are those of this
/// batch and the gradient accounts for their dependence on x, over `group_size` replicas; without,
/// they are constants (moving statistics).
struct BatchNormApply {
  static constexpr std::string_view kName = "batch_norm_apply";
  double epsilon = 1e-5;
  bool gamma = true;
  bool beta = true;
  bool residual = false;
  bool relu = false;
  bool count = false;
  bool weights = false;
  int group_size = 1;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("epsilon", epsilon);
    if (!gamma) visit("gamma", gamma);
    if (!beta) visit("beta", beta);
    if (residual) visit("residual", residual);
    if (relu) visit("relu", relu);
    if (group_size > 1) visit("group_size", group_size);
  }

  /// Positions of the optional operands, -1 where absent.
  struct Operands {
    int gamma, beta, residual, count, weights, total;
  };
  Operands operands() const;
};

/// x, dy like x, mean [G,C], variance [G,C] [, gamma [C]] [, beta [C]] -> two [G,C]: sum of dy, and
/// sum of dy * xhat with xhat = (x - mean) / sqrt(variance + epsilon), over this replica's
/// examples. dy of an example with weight 0 is 0, so no weights are needed. With `relu`, which
/// gamma and beta are for, dy is the gradient of relu(y), y being the forward pass's result: it
/// counts only where xhat * gamma + beta > 0. So y need not be kept.
struct BatchNormGradientSums {
  static constexpr std::string_view kName = "batch_norm_gradient_sums";
  double epsilon = 1e-5;
  bool gamma = false;
  bool beta = false;
  bool relu = false;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("epsilon", epsilon);
    if (relu) visit("relu", relu);
    if (relu && !gamma) visit("gamma", gamma);
    if (relu && !beta) visit("beta", beta);
  }

  /// Positions of the optional operands, -1 where absent.
  struct Operands {
    int gamma, beta, total;
  };
  Operands operands() const;
};

/// x, dy, mean, variance [, gamma] [, beta] [, sum_dy, sum_dy_xhat, count, each [G,C]] [, weights
/// [N]] -> dx:
///   dx = gamma / sqrt(variance + epsilon)
///        * (dy - weight * (sum_dy + xhat * sum_dy_xhat) / max(count, 1))
/// Without the sums, the statistics are constants and dx = gamma / sqrt(variance + epsilon) * dy.
/// With `relu`, which beta is for, dy is 0 where BatchNormGradientSums says so.
struct BatchNormInputGradient {
  static constexpr std::string_view kName = "batch_norm_input_gradient";
  double epsilon = 1e-5;
  bool gamma = true;
  bool beta = false;
  bool relu = false;
  bool sums = true;
  bool weights = false;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("epsilon", epsilon);
    if (!gamma) visit("gamma", gamma);
    if (relu) visit("relu", relu);
    if (relu && !beta) visit("beta", beta);
    if (!sums) visit("sums", sums);
  }

  /// Positions of the optional operands, -1 where absent.
  struct Operands {
    int gamma, beta, sums, weights, total;
  };
  Operands operands() const;
};

/// Count, mean and biased variance over the batch-norm group of each example, all [G,C].
struct BatchMoments {
  Value count, mean, variance;
};

/// Statistics of x over groups: `groups` inside the replica, or one that spans `group_size`
/// replicas, combined by two all-reduces of centred moments (Chan, Golub and LeVeque, 1979):
///   mean = sum n_r mean_r / n,  moment = sum (M_r + n_r (mean_r - mean)^2),  variance = moment /
///   n.
/// `weights` may be "no value". An empty group has count, mean and variance 0.
BatchMoments batch_norm_moments(Builder& builder, Value x, Value weights, std::int64_t groups,
                                int group_size);

}  // namespace toroid
