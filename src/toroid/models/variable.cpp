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

// Drawn in double, rounded to T.
template <class T>
Tensor filled(const Variable& variable, std::uint64_t seed) {
  Tensor tensor(variable.type);
  const auto values = tensor.values<T>();
  const Shape& shape = variable.type.shape;
  Random random(seed, variable.name);
  switch (variable.initializer) {
    case Initializer::kZeros:
      break;
    case Initializer::kOnes:
      std::ranges::fill(values, T(1));
      break;
    case Initializer::kHeNormalFanOut: {
      const double deviation = std::sqrt(2.0 / static_cast<double>(fan(shape, true)));
      for (T& x : values) x = static_cast<T>(deviation * random.normal());
      break;
    }
    case Initializer::kUniformFanIn: {
      const double bound = 1.0 / std::sqrt(static_cast<double>(fan(shape, false)));
      for (T& x : values) x = static_cast<T>(random.uniform(-bound, bound));
      break;
    }
  }
  return tensor;
}

}  // namespace

Tensor initial_value(const Variable& variable, std::uint64_t seed) {
  if (variable.type.dtype == DType::f64) return filled<double>(variable, seed);
  if (variable.type.dtype == DType::f32) return filled<float>(variable, seed);
  Variable wide = variable;
  wide.type.dtype = DType::f64;
  return filled<double>(wide, seed).converted(variable.type.dtype);
}

}  // namespace toroid
