// The residual blocks of He et al., "Deep Residual Learning", 2015, with batch norm.
#pragma once

#include <optional>

#include "toroid/models/net.h"

namespace toroid {

struct ResidualBlock {
  std::int64_t filters = 0;  ///< of the 3x3 convolutions; a bottleneck gives four times as many
  std::int64_t stride = 1;   ///< of the first 3x3 convolution and the projection
  bool bottleneck = false;   ///< [1x1, 3x3, 1x1] in place of [3x3, 3x3]
  std::optional<Padding> padding;  ///< of the 3x3 convolutions; default: TensorFlow's SAME
};

/// x [N,H,W,C] -> [N, H/stride, W/stride, filters or 4 filters]: convolutions, each with batch
/// norm, ReLU between them and after the sum with the shortcut, which is a 1x1 projection with
/// batch norm where the shape changes (option B). Net::Options::zero_init_last_gamma starts the
/// block as the identity.
Value residual_block(Net& net, Value x, const ResidualBlock& block);

}  // namespace toroid
