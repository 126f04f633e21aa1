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
    const auto dy = call.input<T>(0), y = call.input<T>(1);
    const auto dx = call.output<T>();
    for (std::size_t i = 0; i < dx.size(); ++i) dx[i] = y[i] > 0 ? dy[i] : 0;
  });
}

}  // namespace toroid::reference
