#include "toroid/ops/matmul.h"

#include "toroid/backends/reference/kernels.h"

namespace toroid::reference {

void matmul(const KernelCall& call) {
  const auto& attributes = call.attributes<Matmul>();
  const bool ta = attributes.transpose_a, tb = attributes.transpose_b;
  const auto m = static_cast<std::size_t>(call.shape(0)[ta ? 1 : 0]);
  const auto k = static_cast<std::size_t>(call.shape(0)[ta ? 0 : 1]);
  const auto n = static_cast<std::size_t>(call.shape(1)[tb ? 0 : 1]);
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto a = call.input<T>(0), b = call.input<T>(1);
    const auto y = call.output<T>();
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t l = 0; l < k; ++l) {
          const double left = ta ? a[l * m + i] : a[i * k + l];
          sum += left * (tb ? b[j * k + l] : b[l * n + j]);
        }
        y[i * n + j] = static_cast<T>(sum);
      }
    }
  });
}

void add_bias(const KernelCall& call) {
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = call.input<T>(0), bias = call.input<T>(1);
    const auto y = call.output<T>();
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = x[i] + bias[i % bias.size()];
  });
}

}  // namespace toroid::reference
