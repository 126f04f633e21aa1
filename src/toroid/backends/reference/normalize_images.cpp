#include "toroid/ops/normalize_images.h"

#include "toroid/backends/reference/kernels.h"

namespace toroid::reference {

void normalize_images(const KernelCall& call) {
  const auto& attributes = call.attributes<NormalizeImages>();
  const std::size_t channels = attributes.mean.size();
  with_float(call.outputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = call.input<std::uint8_t>(0);
    const auto y = call.output<T>();
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t c = i % channels;
      y[i] = static_cast<T>((x[i] - attributes.mean[c]) * attributes.scale[c]);
    }
  });
}

}  // namespace toroid::reference
