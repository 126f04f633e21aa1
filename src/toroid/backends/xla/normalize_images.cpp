#include "toroid/ops/normalize_images.h"

#include "toroid/backends/xla/emitters.h"

namespace toroid {

std::vector<Ssa> emit_normalize_images(StablehloText& text, const EmitNode& node) {
  const auto& op = node.op<NormalizeImages>();
  const Shape& shape = node.type().shape;
  const auto per_channel = [&](const std::vector<double>& values) {
    return text.broadcast(text.constant(values, op.dtype), shape, {shape.rank() - 1});
  };
  const Ssa pixels = text.convert(node.operands[0], op.dtype);
  const Ssa centred = text.subtract(pixels, per_channel(op.mean));
  return {text.multiply(centred, per_channel(op.scale))};
}

}  // namespace toroid
