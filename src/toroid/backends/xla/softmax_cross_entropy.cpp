#include "toroid/ops/softmax_cross_entropy.h"

#include <limits>

#include "toroid/backends/xla/emitters.h"

namespace toroid {
namespace {

// One number per example [N], repeated over the classes [N,K].
Ssa over_classes(StablehloText& text, const Ssa& x, const Shape& shape) {
  return text.broadcast(x, shape, {0});
}

// Where the class is the label, [N,K].
Ssa is_label(StablehloText& text, const Ssa& labels, const Shape& shape) {
  const Ssa classes = text.iota({DType::i32, shape}, 1);
  return text.compare("EQ", classes, over_classes(text, labels, shape));
}

// The label's element of each row, [N]; the others do not touch it, be they NaN.
Ssa pick_label(StablehloText& text, const Ssa& is_label, const Ssa& x) {
  return text.sum(text.select(is_label, x, text.constant(0, x.type)), {1});
}

struct Softmax {
  Ssa shifted;      // logits - max(logits), [N,K]
  Ssa exponential;  // of that
  Ssa total;        // its sum, [N]
};

Softmax softmax(StablehloText& text, const Ssa& logits) {
  const Shape& shape = logits.type.shape;
  const Ssa largest = text.reduce(logits, {1}, "maximum", -std::numeric_limits<double>::infinity());
  const Ssa shifted = text.subtract(logits, over_classes(text, largest, shape));
  const Ssa exponential = text.elementwise("exponential", {shifted});
  return {shifted, exponential, text.sum(exponential, {1})};
}

}  // namespace

std::vector<Ssa> emit_softmax_cross_entropy(StablehloText& text, const EmitNode& node) {
  const double smoothing = node.op<SoftmaxCrossEntropy>().label_smoothing;
  const Ssa &logits = node.operands[0], &labels = node.operands[1];
  const Softmax s = softmax(text, logits);
  const Ssa chosen = is_label(text, labels, logits.type.shape);
  Ssa expected = pick_label(text, chosen, s.shifted);
  if (smoothing != 0) {
    const auto classes = static_cast<double>(logits.type.shape[1]);
    const Ssa uniform = text.multiply(text.sum(s.shifted, {1}), smoothing / classes);
    expected = text.add(text.multiply(expected, 1 - smoothing), uniform);
  }
  return {text.subtract(text.elementwise("log", {s.total}), expected)};
}

std::vector<Ssa> emit_softmax_cross_entropy_gradient(StablehloText& text, const EmitNode& node) {
  const double smoothing = node.op<SoftmaxCrossEntropyGradient>().label_smoothing;
  const Ssa &logits = node.operands[0], &labels = node.operands[1], &dloss = node.operands[2];
  const Shape& shape = logits.type.shape;
  const double uniform = smoothing / static_cast<double>(shape[1]);
  const Softmax s = softmax(text, logits);
  const Ssa probability = text.divide(s.exponential, over_classes(text, s.total, shape));
  const Ssa chosen = is_label(text, labels, shape);
  const Ssa at_label = text.constant(1 - smoothing + uniform, logits.type);
  const Ssa target = text.select(chosen, at_label, text.constant(uniform, logits.type));
  const Ssa difference = text.subtract(probability, target);
  return {text.multiply(difference, over_classes(text, dloss, shape))};
}

std::vector<Ssa> emit_in_top_k(StablehloText& text, const EmitNode& node) {
  const Ssa &logits = node.operands[0], &labels = node.operands[1];
  const Shape& shape = logits.type.shape;
  const Ssa classes = text.iota({DType::i32, shape}, 1);
  const Ssa wide_labels = over_classes(text, labels, shape);
  const Ssa chosen = text.compare("EQ", classes, wide_labels);
  const Ssa own = over_classes(text, pick_label(text, chosen, logits), shape);
  const Ssa larger = text.compare("GT", logits, own);
  const Ssa equal = text.compare("EQ", logits, own);
  const Ssa earlier = text.elementwise("and", {equal, text.compare("LT", classes, wide_labels)});
  // Not a number: every other class comes before.
  const Ssa last = text.elementwise(
      "and", {text.compare("NE", own, own), text.compare("NE", classes, wide_labels)});
  const Ssa before = text.elementwise("or", {text.elementwise("or", {larger, earlier}), last});
  const Ssa count = text.sum(text.convert(before, DType::i32), {1});
  const Ssa k = text.constant(static_cast<double>(node.op<InTopK>().k), count.type);
  return {text.convert(text.compare("LT", count, k), node.type().dtype)};
}

}  // namespace toroid
