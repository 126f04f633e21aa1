#include "toroid/ops/concat.h"

#include <cstring>

#include "toroid/backends/reference/kernels.h"

namespace toroid::reference {
namespace {

// Copies the pieces from_start .. from_start + count - 1 along the axis of each row.
void copy_pieces(const Tensor& from, std::int64_t from_start, Tensor& to, std::int64_t to_start,
                 std::int64_t count, std::int64_t axis) {
  const AxisView source(from.shape(), axis), target(to.shape(), axis);
  const auto piece = static_cast<std::size_t>(source.inner) * size_of(from.dtype());
  for (std::int64_t row = 0; row < source.rows; ++row) {
    std::memcpy(to.raw() + static_cast<std::size_t>(row * target.size + to_start) * piece,
                from.raw() + static_cast<std::size_t>(row * source.size + from_start) * piece,
                static_cast<std::size_t>(count) * piece);
  }
}

}  // namespace

void concat(const KernelCall& call) {
  const std::int64_t axis = call.attributes<Concat>().axis;
  std::int64_t start = 0;
  for (const Tensor* input : call.inputs) {
    const std::int64_t size = AxisView(input->shape(), axis).size;
    copy_pieces(*input, 0, *call.outputs[0], start, size, axis);
    start += size;
  }
}

void slice(const KernelCall& call) {
  const auto& op = call.attributes<Slice>();
  copy_pieces(*call.inputs[0], op.start, *call.outputs[0], 0, op.limit - op.start, op.axis);
}

}  // namespace toroid::reference
