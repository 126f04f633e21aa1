#include "toroid/ops/constant.h"

#include <algorithm>

#include "toroid/backends/reference/kernels.h"

namespace toroid::reference {

void constant(const KernelCall& call) {
  const auto& attributes = call.attributes<Constant>();
  Tensor values(DType::f64, attributes.type.shape);
  std::ranges::fill(values.values<double>(), attributes.value);
  *call.outputs[0] = values.converted(attributes.type.dtype);
}

void convert(const KernelCall& call) {
  *call.outputs[0] = call.inputs[0]->converted(call.outputs[0]->dtype());
}

}  // namespace toroid::reference
