#include "toroid/ops/batch_norm.h"

#include "toroid/base/error.h"
#include "toroid/ops/checks.h"
#include "toroid/ops/collectives.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/sum.h"

namespace toroid {
namespace {

void expect_activation(const TensorType& x) {
  expect_float(x, "x");
  if (x.shape.rank() < 2) fail("x must be [N,...,C], is {}", x.str());
}

DType statistic_dtype(const TensorType& x) {
  return x.dtype == DType::bf16 ? DType::f32 : x.dtype;
}

TensorType per_channel(const TensorType& x) {
  return {statistic_dtype(x), Shape{x.shape.back()}};
}

// Checks that `statistic` is [G,C] with G groups of x's examples.
void expect_statistic(const TensorType& x, const TensorType& statistic, std::string_view what) {
  expect_rank(statistic, 2, what);
  const std::int64_t groups = statistic.shape[0];
  expect_type(statistic, {statistic_dtype(x), Shape{groups, x.shape.back()}}, what);
  if (groups < 1 || x.shape[0] % groups != 0) {
    fail("{} examples do not form {} equal groups", x.shape[0], groups);
  }
}

TensorType example_weights(const TensorType& x) {
  return {statistic_dtype(x), Shape{x.shape[0]}};
}

Cost activation_cost(Types inputs, Types outputs, double flops_per_element) {
  return memory_cost(inputs, outputs,
                     flops_per_element * static_cast<double>(inputs[0].elements()));
}

}  // namespace

std::vector<TensorType> BatchNormStatistics::infer(Types inputs) const {
  expect_operands(inputs, 1, 2);
  const TensorType& x = inputs[0];
  expect_activation(x);
  if (inputs.size() == 2) expect_type(inputs[1], example_weights(x), "weights");
  const TensorType statistic{statistic_dtype(x), Shape{groups, x.shape.back()}};
  expect_statistic(x, statistic, "statistics");
  return {statistic, statistic, statistic};
}

Gradient BatchNormStatistics::gradient(GradientContext&) const {
  return NotDifferentiable{"batch_norm_input_gradient holds the statistics' part of the gradient"};
}

Cost BatchNormStatistics::cost(Types inputs, Types outputs) const {
  return activation_cost(inputs, outputs, 4);
}

BatchNormApply::Operands BatchNormApply::operands() const {
  Operands at{-1, -1, -1, -1, -1, 3};
  if (gamma) at.gamma = at.total++;
  if (beta) at.beta = at.total++;
  if (residual) at.residual = at.total++;
  if (count) at.count = at.total++;
  if (weights) at.weights = at.total++;
  return at;
}

std::vector<TensorType> BatchNormApply::infer(Types inputs) const {
  const Operands at = operands();
  expect_operands(inputs, static_cast<std::size_t>(at.total));
  const auto operand = [&](int i) -> const TensorType& {
    return inputs[static_cast<std::size_t>(i)];
  };
  const TensorType& x = inputs[0];
  expect_activation(x);
  expect_statistic(x, inputs[1], "mean");
  expect_type(inputs[2], inputs[1], "variance");
  if (gamma) expect_type(operand(at.gamma), per_channel(x), "gamma");
  if (beta) expect_type(operand(at.beta), per_channel(x), "beta");
  if (residual) expect_type(operand(at.residual), x, "residual");
  if (count) expect_type(operand(at.count), inputs[1], "count");
  if (weights) expect_type(operand(at.weights), example_weights(x), "weights");
  return {x};
}

Gradient BatchNormApply::gradient(GradientContext& context) const {
  if (residual || relu) return NotDifferentiable{"it is fused; differentiate before fusing"};
  Builder& builder = context.builder();
  const Operands at = operands();
  const auto input = [&](int i) { return context.input(static_cast<std::size_t>(i)); };
  const Value x = input(0), mean = input(1), variance = input(2);
  const Value dy = context.output_gradient();
  const auto sums =
      builder.add_all(BatchNormGradientSums{.epsilon = epsilon}, {x, dy, mean, variance});

  std::vector<Value> operands_of_dx{x, dy, mean, variance};
  if (gamma) operands_of_dx.push_back(input(at.gamma));
  if (count) {
    const auto total = all_reduce(builder, sums, group_size);
    operands_of_dx.insert(operands_of_dx.end(), {total[0], total[1], input(at.count)});
  }
  if (weights) operands_of_dx.push_back(input(at.weights));
  std::vector<Value> gradients(context.input_count());
  gradients[0] = builder.add(
      BatchNormInputGradient{.epsilon = epsilon, .gamma = gamma, .sums = count, .weights = weights},
      operands_of_dx);
  // This replica's part only: like every parameter's, it is summed over the data axis later.
  if (gamma) gradients[static_cast<std::size_t>(at.gamma)] = sum(builder, sums[1], {0});
  if (beta) gradients[static_cast<std::size_t>(at.beta)] = sum(builder, sums[0], {0});
  return gradients;
}

Cost BatchNormApply::cost(Types inputs, Types outputs) const {
  return activation_cost(inputs, outputs, 2.0 + residual + relu);
}

BatchNormGradientSums::Operands BatchNormGradientSums::operands() const {
  Operands at{-1, -1, 4};
  if (gamma) at.gamma = at.total++;
  if (beta) at.beta = at.total++;
  return at;
}

std::vector<TensorType> BatchNormGradientSums::infer(Types inputs) const {
  const Operands at = operands();
  expect_operands(inputs, static_cast<std::size_t>(at.total));
  const TensorType& x = inputs[0];
  expect_activation(x);
  expect_type(inputs[1], x, "dy");
  expect_statistic(x, inputs[2], "mean");
  expect_type(inputs[3], inputs[2], "variance");
  if (gamma) expect_type(inputs[static_cast<std::size_t>(at.gamma)], per_channel(x), "gamma");
  if (beta) expect_type(inputs[static_cast<std::size_t>(at.beta)], per_channel(x), "beta");
  return {inputs[2], inputs[2]};
}

Gradient BatchNormGradientSums::gradient(GradientContext&) const {
  return NotDifferentiable{"second derivatives of batch norm are not needed to train"};
}

Cost BatchNormGradientSums::cost(Types inputs, Types outputs) const {
  return activation_cost(inputs, outputs, 4);
}

BatchNormInputGradient::Operands BatchNormInputGradient::operands() const {
  Operands at{-1, -1, -1, -1, 4};
  if (gamma) at.gamma = at.total++;
  if (beta) at.beta = at.total++;
  if (sums) {
    at.sums = at.total;
    at.total += 3;
  }
  if (weights) at.weights = at.total++;
  return at;
}

std::vector<TensorType> BatchNormInputGradient::infer(Types inputs) const {
  const Operands at = operands();
  expect_operands(inputs, static_cast<std::size_t>(at.total));
  const auto operand = [&](int i) -> const TensorType& {
    return inputs[static_cast<std::size_t>(i)];
  };
  const TensorType& x = inputs[0];
  expect_activation(x);
  expect_type(inputs[1], x, "dy");
  expect_statistic(x, inputs[2], "mean");
  expect_type(inputs[3], inputs[2], "variance");
  if (gamma) expect_type(operand(at.gamma), per_channel(x), "gamma");
  if (beta) expect_type(operand(at.beta), per_channel(x), "beta");
  if (sums) {
    expect_type(operand(at.sums), inputs[2], "sum_dy");
    expect_type(operand(at.sums + 1), inputs[2], "sum_dy_xhat");
    expect_type(operand(at.sums + 2), inputs[2], "count");
  }
  if (weights) expect_type(operand(at.weights), example_weights(x), "weights");
  return {x};
}

Gradient BatchNormInputGradient::gradient(GradientContext&) const {
  return NotDifferentiable{"second derivatives of batch norm are not needed to train"};
}

Cost BatchNormInputGradient::cost(Types inputs, Types outputs) const {
  return activation_cost(inputs, outputs, sums ? 6 : 1);
}

BatchMoments batch_norm_moments(Builder& builder, Value x, Value weights, std::int64_t groups,
                                int group_size) {
  std::vector<Value> operands{x};
  if (weights) operands.push_back(weights);
  const auto local = builder.add_all(BatchNormStatistics{.groups = groups}, operands);
  Value count = local[0], mean = local[1], moment = local[2];
  if (group_size > 1) {
    const auto first = all_reduce(builder, {count, multiply(builder, count, mean)}, group_size);
    const Value group_mean = divide(builder, first[1], maximum(builder, first[0], 1.0));
    const Value shift = subtract(builder, mean, group_mean);
    const Value between = multiply(builder, count, multiply(builder, shift, shift));
    moment = all_reduce(builder, {add(builder, moment, between)}, group_size)[0];
    count = first[0];
    mean = group_mean;
  }
  return {count, mean, divide(builder, moment, maximum(builder, count, 1.0))};
}

}  // namespace toroid
