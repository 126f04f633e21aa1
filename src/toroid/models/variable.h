// The variables of a model: names, types, and the values they start from.
#pragma once

#include <cstdint>
#include <string>

#include "toroid/base/tensor.h"

namespace toroid {

enum class Initializer {
  kZeros,
  kOnes,
  /// Normal, variance 2 / (kernel height * width * output channels): He et al., 2015, eq. 14.
  kHeNormalFanOut,
  /// Uniform in +-1 / sqrt(inputs): LeCun et al., 1998, as PyTorch's linear layers start.
  kUniformFanIn,
};

struct Variable {
  std::string name;  ///< with its path: "stage2/block1/conv1/kernel"
  TensorType type;
  Initializer initializer = Initializer::kZeros;
  bool trainable = true;
};

/// The value a variable starts from: a pure function of its name, type and the seed, drawn in f64
/// and rounded, so that every rank, backend and precision starts from the same network.
Tensor initial_value(const Variable& variable, std::uint64_t seed);

}  // namespace toroid
