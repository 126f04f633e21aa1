#include "toroid/backends/cpu/cpu_state.h"

namespace toroid::cpu {

Tensor CpuState::read(const std::string& name) const {
  const Tensor& stored = variables_.tensor(name);
  return moved(stored, kernel_layout(stored.type(), kernel_block_), Layout::kRowMajor);
}

void CpuState::write(const std::string& name, const Tensor& value) {
  // In the variable's own type the value has the variable's layout; another type is refused.
  variables_.write(name,
                   moved(value, Layout::kRowMajor, kernel_layout(value.type(), kernel_block_)));
}

Tensor CpuState::moved(const Tensor& tensor, Layout from, Layout to) const {
  if (from == to) return tensor;
  Tensor result(tensor.type());
  const auto kernel = relayout(onednn_, tensor.type(), from, to);
  Tensor scratch(DType::u8, Shape{static_cast<std::int64_t>(kernel->scratch_bytes())});
  std::byte* const inputs[] = {const_cast<std::byte*>(tensor.raw())};
  std::byte* const outputs[] = {result.raw()};
  kernel->run({inputs, outputs, scratch.raw()});
  return result;
}

}  // namespace toroid::cpu
