#include "toroid/ops/relu.h"

#include "toroid/backends/reference/kernels.h"

namespace toroid::reference {

void relu(const KernelCall& call) {
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = call.input<T>(0);
    const auto y = call.output<T>();
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = x[i] < 0 ? 0 : x[i];
  });
}

void relu_gradient(const KernelCall& call) {
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto y = call.input<T>(1);
    const auto dx = call.output<T>();
    for (std::size_t i = 0; i < dx.size(); ++i) {
      double dy = call.input<T>(0)[i];
      for (std::size_t k = 2; k < call.inputs.size(); ++k) dy += call.input<T>(k)[i];
      dx[i] = y[i] > 0 ? static_cast<T>(dy) : 0;
    }
  });
}

}  // namespace toroid::reference
