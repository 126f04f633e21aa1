// The moving averages of batch-norm statistics that evaluation uses.
#pragma once

#include <string>
#include <vector>

#include "toroid/models/net.h"
#include "toroid/optim/optimizer.h"

namespace toroid {

/// A batch norm with moving averages: variables path/moving_mean and path/moving_variance.
struct MovingLayer {
  std::string path;
  double momentum = 0;
  TensorType type;  ///< of each average: [C]
};

std::vector<MovingLayer> moving_layers(const Net& net);

/// What the averages need of a training net's batch: for each layer the sums over this replica's
/// batch-norm groups that hold real examples of their means, of their Bessel-corrected variances,
/// n / (n - 1) (as Keras' fused kernel and PyTorch do), and of 1, each [C]. Sums of several
/// micro-batches add up.
std::vector<Value> group_sums(Net& net);

/// Updates of every moving_mean and moving_variance,
///   moving = momentum moving + (1 - momentum) batch,
/// where `batch` is the mean over the groups that the sums are of. The sums of `replicas` replicas
/// are added up in one small bucket, so that every replica's state stays the same; 1 where they are
/// the same already.
std::vector<VariableUpdate> moving_statistics(Builder& builder,
                                              const std::vector<MovingLayer>& layers,
                                              const std::vector<Value>& sums, int replicas);

}  // namespace toroid
