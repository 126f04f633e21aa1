// The moving averages of batch-norm statistics that evaluation uses.
#pragma once

#include <vector>

#include "toroid/models/net.h"
#include "toroid/optim/optimizer.h"

namespace toroid {

/// Updates of every moving_mean and moving_variance of a training net:
///   moving = momentum moving + (1 - momentum) batch,
/// where `batch` is the mean over the batch-norm groups of the global batch that hold real
/// examples, and the variance is Bessel-corrected, n / (n - 1) (as Keras' fused kernel and PyTorch
/// do). Groups of several replicas or of none are averaged over the data axis in one small bucket,
/// so that every replica's state stays the same.
std::vector<VariableUpdate> moving_statistics(Net& net, int replicas);

}  // namespace toroid
