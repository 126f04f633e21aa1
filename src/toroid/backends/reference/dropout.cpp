#include "toroid/ops/dropout.h"

#include "toroid/backends/reference/kernels.h"
#include "toroid/base/random.h"

namespace toroid::reference {

void dropout(const KernelCall& call) {
  const auto& op = call.attributes<Dropout>();
  const auto ids = call.input<std::uint32_t>(1);
  const std::uint32_t seed = call.input<std::uint32_t>(2)[0];
  const auto step = static_cast<std::uint32_t>(call.input<std::int32_t>(3)[0]);
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = call.input<T>(0);
    const auto y = call.output<T>();
    const std::size_t per_example = x.size() / ids.size();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t e = i % per_example;
      const auto block = philox(
          {seed, 0}, {static_cast<std::uint32_t>(e / 4), op.key, step, ids[i / per_example]});
      y[i] = block[e % 4] < op.threshold() ? 0 : static_cast<T>(x[i] * op.scale());
    }
  });
}

}  // namespace toroid::reference
