#include "toroid/ops/local_response_norm.h"

#include "toroid/backends/xla/emitters.h"

namespace toroid {
namespace {

// The sum over each channel's neighbours of x [N,H,W,C].
Ssa neighbours(StablehloText& text, const Ssa& x, std::int64_t size) {
  const SlidingWindow window{.size = {1, 1, 1, size},
                             .stride = {1, 1, 1, 1},
                             .low = {0, 0, 0, size / 2},
                             .high = {0, 0, 0, size / 2}};
  return text.sum_window(x, window, x.type);
}

// s of ops/local_response_norm.h.
template <class Norm>
Ssa scales(StablehloText& text, const Norm& op, const Ssa& x) {
  return text.add(text.multiply(neighbours(text, text.multiply(x, x), op.size), op.alpha), op.k);
}

Ssa power(StablehloText& text, const Ssa& x, double exponent) {
  return text.elementwise("power", {x, text.constant(exponent, x.type)});
}

}  // namespace

std::vector<Ssa> emit_local_response_norm(StablehloText& text, const EmitNode& node) {
  const auto& op = node.op<LocalResponseNorm>();
  const Ssa& x = node.operands[0];
  return {text.multiply(x, power(text, scales(text, op, x), -op.beta))};
}

std::vector<Ssa> emit_local_response_norm_gradient(StablehloText& text, const EmitNode& node) {
  const auto& op = node.op<LocalResponseNormGradient>();
  const Ssa &x = node.operands[0], &dy = node.operands[1];
  const Ssa s = scales(text, op, x);
  const Ssa direct = text.multiply(dy, power(text, s, -op.beta));
  const Ssa others = neighbours(text, text.divide(text.multiply(direct, x), s), op.size);
  return {text.subtract(direct, text.multiply(text.multiply(x, others), 2 * op.alpha * op.beta))};
}

}  // namespace toroid
