#include "toroid/ops/batch_norm.h"

#include "toroid/backends/xla/emitters.h"

namespace toroid {
namespace {

Ssa operand(const EmitNode& node, int i) {
  return node.operands[static_cast<std::size_t>(i)];
}

const Ssa* optional_operand(const EmitNode& node, int i) {
  return i < 0 ? nullptr : &node.operands[static_cast<std::size_t>(i)];
}

// [N,...,C] seen as [G,N/G,...,C], the G groups of examples apart.
class Groups {
 public:
  Groups(StablehloText& text, const TensorType& x, const TensorType& statistic)
      : text_(text), statistic_(statistic) {
    const std::int64_t groups = statistic.shape[0];
    Dims dims{groups, x.shape[0] / groups};
    dims.insert(dims.end(), x.shape.begin() + 1, x.shape.end());
    shape_ = Shape(std::move(dims));
  }

  Ssa split(const Ssa& x) const { return text_.reshape(x, shape_); }
  // Statistics [G,C], repeated over the examples and pixels of their groups.
  Ssa spread(const Ssa& statistic) const { return text_.broadcast(statistic, shape_, {0, last()}); }
  // x - mean, split.
  Ssa centre(const Ssa& x, const Ssa& mean) const {
    const Ssa split_x = split(x);
    return text_.subtract(split_x, spread(mean));
  }
  // One number per example [N].
  Ssa spread_weights(const Ssa& weights) const {
    const Ssa split_weights = text_.reshape(weights, Shape{shape_[0], shape_[1]});
    return text_.broadcast(split_weights, shape_, {0, 1});
  }
  // One number per channel [C], as statistics.
  Ssa per_group(const Ssa& channels) const {
    return text_.broadcast(channels, statistic_.shape, {1});
  }
  // Over each group's examples and pixels: [G,C].
  Ssa sum(const Ssa& x) const {
    Dims axes;
    for (std::int64_t axis = 1; axis < last(); ++axis) axes.push_back(axis);
    return text_.sum(x, axes);
  }
  // A split dy, 0 where it comes through a relu that the forward pass closed.
  Ssa through_relu(const Ssa& dy, const Ssa& centred, const Ssa& variance, double epsilon,
                   const Ssa* gamma, const Ssa* beta) const {
    Ssa y = text_.multiply(centred, spread(scale(variance, epsilon, gamma)));
    if (beta != nullptr) y = text_.add(y, spread(per_group(*beta)));
    const Ssa zero = text_.constant(0, dy.type);
    return text_.select(text_.compare("GT", y, zero), dy, zero);
  }
  std::int64_t elements_per_channel() const {
    return shape_.elements() / (shape_[0] * shape_.back());
  }
  // gamma / sqrt(variance + epsilon), [G,C].
  Ssa scale(const Ssa& variance, double epsilon, const Ssa* gamma) const {
    const Ssa deviation = text_.elementwise("sqrt", {text_.add(variance, epsilon)});
    const Ssa numerator = gamma ? per_group(*gamma) : text_.constant(1, statistic_);
    return text_.divide(numerator, deviation);
  }

 private:
  std::int64_t last() const { return shape_.rank() - 1; }

  StablehloText& text_;
  TensorType statistic_;
  Shape shape_;
};

}  // namespace

std::vector<Ssa> emit_batch_norm_statistics(StablehloText& text, const EmitNode& node) {
  const TensorType& statistic = node.type();
  const Groups groups(text, node.operands[0].type, statistic);
  const Ssa x = groups.split(node.operands[0]);
  if (node.operands.size() == 1) {
    const auto elements = static_cast<double>(groups.elements_per_channel());
    const Ssa count = text.constant(elements, statistic);
    const Ssa mean = text.divide(groups.sum(x), count);
    const Ssa centred = text.subtract(x, groups.spread(mean));
    return {count, mean, groups.sum(text.multiply(centred, centred))};
  }
  const Ssa weights = groups.spread_weights(node.operands[1]);
  const Ssa count = groups.sum(weights);
  const Ssa zero = text.constant(0, statistic);
  const Ssa ratio = text.divide(groups.sum(text.multiply(weights, x)), count);
  const Ssa mean = text.select(text.compare("EQ", count, zero), zero, ratio);
  const Ssa centred = text.subtract(x, groups.spread(mean));
  const Ssa squares = text.multiply(weights, text.multiply(centred, centred));
  return {count, mean, groups.sum(squares)};
}

std::vector<Ssa> emit_batch_norm_apply(StablehloText& text, const EmitNode& node) {
  const auto& op = node.op<BatchNormApply>();
  const auto at = op.operands();
  const Ssa &x = node.operands[0], &mean = node.operands[1], &variance = node.operands[2];
  const Groups groups(text, x.type, mean.type);
  const Ssa scale = groups.scale(variance, op.epsilon, optional_operand(node, at.gamma));
  const Ssa centred = groups.centre(x, mean);
  Ssa y = text.multiply(centred, groups.spread(scale));
  if (op.beta) y = text.add(y, groups.spread(groups.per_group(operand(node, at.beta))));
  y = text.reshape(y, x.type.shape);
  if (op.residual) y = text.add(y, operand(node, at.residual));
  if (op.relu) y = text.relu(y);
  return {y};
}

std::vector<Ssa> emit_batch_norm_gradient_sums(StablehloText& text, const EmitNode& node) {
  const auto& op = node.op<BatchNormGradientSums>();
  const auto at = op.operands();
  const Ssa &mean = node.operands[2], &variance = node.operands[3];
  const Groups groups(text, node.operands[0].type, mean.type);
  Ssa dy = groups.split(node.operands[1]);
  const Ssa centred = groups.centre(node.operands[0], mean);
  if (op.relu) {
    dy = groups.through_relu(dy, centred, variance, op.epsilon, optional_operand(node, at.gamma),
                             optional_operand(node, at.beta));
  }
  const Ssa products = groups.sum(text.multiply(dy, centred));
  const Ssa scale = groups.scale(variance, op.epsilon, nullptr);
  return {groups.sum(dy), text.multiply(products, scale)};
}

std::vector<Ssa> emit_batch_norm_input_gradient(StablehloText& text, const EmitNode& node) {
  const auto& op = node.op<BatchNormInputGradient>();
  const auto at = op.operands();
  const Ssa &x = node.operands[0], &mean = node.operands[2], &variance = node.operands[3];
  const Groups groups(text, x.type, mean.type);
  Ssa dx = groups.split(node.operands[1]);
  const Ssa* gamma = optional_operand(node, at.gamma);
  if (op.relu) {
    dx = groups.through_relu(dx, groups.centre(x, mean), variance, op.epsilon, gamma,
                             optional_operand(node, at.beta));
  }
  if (op.sums) {
    // (sum_dy + xhat * sum_dy_xhat) / n = a + (x - mean) * b
    const Ssa n = text.maximum(operand(node, at.sums + 2), 1);
    const Ssa a = text.divide(operand(node, at.sums), n);
    const Ssa inverse = groups.scale(variance, op.epsilon, nullptr);
    const Ssa b = text.divide(text.multiply(operand(node, at.sums + 1), inverse), n);
    const Ssa centred = groups.centre(x, mean);
    const Ssa slope = text.multiply(centred, groups.spread(b));
    Ssa shared = text.add(slope, groups.spread(a));
    if (op.weights) {
      shared = text.multiply(groups.spread_weights(operand(node, at.weights)), shared);
    }
    dx = text.subtract(dx, shared);
  }
  const Ssa scale = groups.scale(variance, op.epsilon, gamma);
  return {text.reshape(text.multiply(dx, groups.spread(scale)), x.type.shape)};
}

}  // namespace toroid
