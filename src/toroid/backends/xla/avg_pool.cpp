#include "toroid/ops/avg_pool.h"

#include "toroid/backends/xla/emitters.h"

namespace toroid {
namespace {

// The windows' divisors, spread over y [N,OH,OW,C]; x's height and width are `input`.
template <class Pool>
Ssa divisors(StablehloText& text, const Pool& op, std::array<std::int64_t, 2> input,
             const TensorType& y) {
  const auto spread = [&](std::size_t axis) {
    const int at = static_cast<int>(axis) + 1;
    const auto counts = window_counts(op, axis, input[axis], y.shape[at]);
    const std::vector<double> values(counts.begin(), counts.end());
    return text.broadcast(text.constant(values, y.dtype), y.shape, {at});
  };
  const Ssa rows = spread(0);
  return text.multiply(rows, spread(1));
}

}  // namespace

std::vector<Ssa> emit_avg_pool(StablehloText& text, const EmitNode& node) {
  const auto& op = node.op<AvgPool>();
  const Ssa& x = node.operands[0];
  const SlidingWindow window{.size = {1, op.window[0], op.window[1], 1},
                             .stride = {1, op.stride[0], op.stride[1], 1},
                             .low = {0, op.padding[0], op.padding[2], 0},
                             .high = {0, op.padding[1], op.padding[3], 0}};
  const Ssa sums = text.sum_window(x, window, node.type());
  const Ssa counts = divisors(text, op, {x.type.shape[1], x.type.shape[2]}, node.type());
  return {text.divide(sums, counts)};
}

// Each pixel gathers from the windows that hold it: dy with stride - 1 zeros between its pixels,
// under the same window with stride 1, padded so that the output has the input's size.
std::vector<Ssa> emit_avg_pool_gradient(StablehloText& text, const EmitNode& node) {
  const auto& op = node.op<AvgPoolGradient>();
  const Ssa& dy = node.operands[0];
  SlidingWindow window{.size = {1, op.window[0], op.window[1], 1},
                       .stride = {1, 1, 1, 1},
                       .low = {0, 0, 0, 0},
                       .high = {0, 0, 0, 0},
                       .dilation = {1, op.stride[0], op.stride[1], 1}};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t dilated =
        (dy.type.shape[static_cast<int>(axis) + 1] - 1) * op.stride[axis] + 1;
    window.low[axis + 1] = op.window[axis] - 1 - op.padding[2 * axis];
    window.high[axis + 1] = op.input_size[axis] + op.padding[2 * axis] - dilated;
  }
  const Ssa shares = text.divide(dy, divisors(text, op, op.input_size, dy.type));
  return {text.sum_window(shares, window, node.type())};
}

}  // namespace toroid
