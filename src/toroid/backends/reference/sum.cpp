#include "toroid/ops/sum.h"

#include <algorithm>

#include "toroid/backends/reference/kernels.h"

namespace toroid::reference {
namespace {

// For each element of a tensor of this shape, row-major, the index of its element in the tensor
// without `axes`.
std::vector<std::size_t> indices_without(const Shape& shape,
                                         const std::vector<std::int64_t>& axes) {
  std::vector<std::size_t> indices(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    auto rest = static_cast<std::int64_t>(i);
    std::int64_t stride = 1, index = 0;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const std::int64_t coordinate = rest % shape[axis];
      rest /= shape[axis];
      if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
      index += coordinate * stride;
      stride *= shape[axis];
    }
    indices[i] = static_cast<std::size_t>(index);
  }
  return indices;
}

}  // namespace

void sum(const KernelCall& call) {
  const auto to = indices_without(call.shape(0), call.attributes<Sum>().axes);
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = call.input<T>(0);
    std::vector<double> sums(call.output<T>().size());
    for (std::size_t i = 0; i < x.size(); ++i) sums[to[i]] += x[i];
    store(sums, call.output<T>());
  });
}

void broadcast(const KernelCall& call) {
  const auto from = indices_without(call.outputs[0]->shape(), call.attributes<Broadcast>().axes);
  const std::size_t size = size_of(call.inputs[0]->dtype());
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::memcpy(call.outputs[0]->raw() + i * size, call.inputs[0]->raw() + from[i] * size, size);
  }
}

void sum_squares(const KernelCall& call) {
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    double sum = 0;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
      for (const double x : call.input<T>(i)) sum += x * x;
    }
    call.output<T>()[0] = static_cast<T>(sum);
  });
}

void reshape(const KernelCall& call) {
  *call.outputs[0] = call.inputs[0]->reshaped(call.outputs[0]->shape());
}

}  // namespace toroid::reference
