#include "toroid/ops/softmax_cross_entropy.h"

#include "toroid/base/error.h"
#include "toroid/ops/checks.h"

namespace toroid {
namespace {

void expect_logits_and_labels(Types inputs) {
  expect_rank(inputs[0], 2, "logits");
  expect_float(inputs[0], "logits");
  if (inputs[0].shape[1] < 1) fail("logits must have at least one class, are {}", inputs[0].str());
  expect_type(inputs[1], {DType::i32, Shape{inputs[0].shape[0]}}, "labels");
}

void expect_smoothing(double smoothing) {
  if (!(smoothing >= 0 && smoothing < 1)) {
    fail("the label smoothing must be in [0, 1), is {}", smoothing);
  }
}

TensorType per_example(const TensorType& logits) {
  return {logits.dtype, Shape{logits.shape[0]}};
}

// A subtraction, an exponential, and a few sums per logit.
Cost softmax_cost(Types inputs, Types outputs) {
  return memory_cost(inputs, outputs, 6.0 * static_cast<double>(inputs[0].elements()));
}

}  // namespace

std::vector<TensorType> SoftmaxCrossEntropy::infer(Types inputs) const {
  expect_operands(inputs, 2);
  expect_logits_and_labels(inputs);
  expect_smoothing(label_smoothing);
  return {per_example(inputs[0])};
}

Gradient SoftmaxCrossEntropy::gradient(GradientContext& context) const {
  const Value dlogits =
      context.builder().add(SoftmaxCrossEntropyGradient{.label_smoothing = label_smoothing},
                            {context.input(0), context.input(1), context.output_gradient()});
  return std::vector<Value>{dlogits, Value{}};
}

Cost SoftmaxCrossEntropy::cost(Types inputs, Types outputs) const {
  return softmax_cost(inputs, outputs);
}

std::vector<TensorType> SoftmaxCrossEntropyGradient::infer(Types inputs) const {
  expect_operands(inputs, 3);
  expect_logits_and_labels(inputs);
  expect_smoothing(label_smoothing);
  expect_type(inputs[2], per_example(inputs[0]), "dloss");
  return {inputs[0]};
}

Gradient SoftmaxCrossEntropyGradient::gradient(GradientContext&) const {
  return NotDifferentiable{"second derivatives of the loss are not needed to train"};
}

Cost SoftmaxCrossEntropyGradient::cost(Types inputs, Types outputs) const {
  return softmax_cost(inputs, outputs);
}

std::vector<TensorType> InTopK::infer(Types inputs) const {
  expect_operands(inputs, 2);
  expect_logits_and_labels(inputs);
  if (k < 1) fail("k must be at least 1, is {}", k);
  return {per_example(inputs[0])};
}

Gradient InTopK::gradient(GradientContext&) const {
  return NotDifferentiable{"counting is piecewise constant"};
}

Cost InTopK::cost(Types inputs, Types outputs) const {
  return memory_cost(inputs, outputs, static_cast<double>(inputs[0].elements()));
}

Value softmax_cross_entropy(Builder& builder, Value logits, Value labels, double label_smoothing) {
  return builder.add(SoftmaxCrossEntropy{.label_smoothing = label_smoothing}, {logits, labels});
}

Value in_top_k(Builder& builder, Value logits, Value labels, std::int64_t k) {
  return builder.add(InTopK{.k = k}, {logits, labels});
}

}  // namespace toroid
