#include "toroid/models/variable.h"

#include <algorithm>
#include <cmath>

#include "toroid/base/random.h"

namespace toroid {
namespace {

// Kernels are [kh,kw,C,K] or [inputs,outputs].
std::int64_t fan(const Shape& shape, bool out) {
  std::int64_t window = 1;
  for (int axis = 0; axis + 2 < shape.rank(); ++axis) window *= shape[axis];
  return std::max<std::int64_t>(window * shape[shape.rank() - (out ? 1 : 2)], 1);
}

}  // namespace

Tensor initial_value(const Variable& variable, std::uint64_t seed) {
  Tensor values(DType::f64, variable.type.shape);
  Random random(seed, variable.name);
  switch (variable.initializer) {
    case Initializer::kZeros:
      break;
    case Initializer::kOnes:
      for (double& x : values.values<double>()) x = 1;
      break;
    case Initializer::kHeNormalFanOut: {
      const double deviation = std::sqrt(2.0 / static_cast<double>(fan(variable.type.shape, true)));
      for (double& x : values.values<double>()) x = deviation * random.normal();
      break;
    }
    case Initializer::kUniformFanIn: {
      const double bound = 1.0 / std::sqrt(static_cast<double>(fan(variable.type.shape, false)));
      for (double& x : values.values<double>()) x = random.uniform(-bound, bound);
      break;
    }
  }
  return values.converted(variable.type.dtype);
}

}  // namespace toroid
