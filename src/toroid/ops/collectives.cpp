#include "toroid/ops/collectives.h"

#include "toroid/base/error.h"
#include "toroid/ops/checks.h"

namespace toroid {
namespace {

void expect_bucket(Types inputs, int group_size) {
  if (inputs.empty()) fail("takes at least one operand");
  if (group_size < 1) fail("the group size must be at least 1, is {}", group_size);
  expect_float(inputs[0], "the first operand");
  for (const TensorType& type : inputs) expect_dtype(type, inputs[0].dtype, "each operand");
}

std::vector<Value> complete(Builder& builder, Op start, std::vector<Value> values) {
  const auto in_flight = builder.add_all(std::move(start), std::move(values));
  return builder.add_all(CollectiveDone{}, in_flight);
}

// The gradients that exist, in order: they travel as one bucket again.
std::vector<Value> present_gradients(GradientContext& context) {
  std::vector<Value> gradients;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const Value gradient = context.output_gradient(i);
    if (gradient) gradients.push_back(gradient);
  }
  return gradients;
}

// Puts the arrived gradients back to the operands whose results had one.
Gradient scatter_back(GradientContext& context, const std::vector<Value>& arrived) {
  std::vector<Value> result(context.input_count());
  std::size_t next = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (context.output_gradient(i)) result[i] = arrived[next++];
  }
  return result;
}

}  // namespace

std::vector<TensorType> AllReduceStart::infer(Types inputs) const {
  expect_bucket(inputs, group_size);
  return {inputs.begin(), inputs.end()};
}

Gradient AllReduceStart::gradient(GradientContext& context) const {
  // Every member's loss depends on every member's operand, and losses add up over the group.
  return scatter_back(context,
                      all_reduce(context.builder(), present_gradients(context), group_size));
}

Cost AllReduceStart::cost(Types inputs, Types outputs) const {
  return memory_cost(inputs, outputs, memory_cost(inputs, {}).bytes / 4);
}

std::vector<TensorType> ReduceScatterStart::infer(Types inputs) const {
  expect_bucket(inputs, group_size);
  std::vector<TensorType> outputs;
  for (const TensorType& type : inputs) {
    expect_rank(type, 1, "each operand");
    if (type.shape[0] % group_size != 0) {
      fail("{} is no multiple of the group size {}", type.str(), group_size);
    }
    outputs.push_back({type.dtype, Shape{type.shape[0] / group_size}});
  }
  return outputs;
}

Gradient ReduceScatterStart::gradient(GradientContext& context) const {
  return scatter_back(context,
                      all_gather(context.builder(), present_gradients(context), group_size));
}

Cost ReduceScatterStart::cost(Types inputs, Types outputs) const {
  return memory_cost(inputs, outputs, memory_cost(inputs, {}).bytes / 4);
}

std::vector<TensorType> AllGatherStart::infer(Types inputs) const {
  expect_bucket(inputs, group_size);
  std::vector<TensorType> outputs;
  for (const TensorType& type : inputs) {
    expect_rank(type, 1, "each operand");
    outputs.push_back({type.dtype, Shape{type.shape[0] * group_size}});
  }
  return outputs;
}

Gradient AllGatherStart::gradient(GradientContext& context) const {
  return scatter_back(context,
                      reduce_scatter(context.builder(), present_gradients(context), group_size));
}

Cost AllGatherStart::cost(Types inputs, Types outputs) const {
  return memory_cost(inputs, outputs);
}

std::vector<TensorType> CollectiveDone::infer(Types inputs) const {
  if (inputs.empty()) fail("takes all outputs of one start");
  return {inputs.begin(), inputs.end()};
}

Gradient CollectiveDone::gradient(GradientContext& context) const {
  // The values pass through; the start's gradient communicates.
  std::vector<Value> gradients;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    gradients.push_back(context.output_gradient(i));
  }
  return gradients;
}

std::vector<TensorType> AxisIndex::infer(Types inputs) const {
  expect_operands(inputs, 0);
  return {{DType::i32, Shape{}}};
}

Gradient AxisIndex::gradient(GradientContext&) const {
  return std::vector<Value>{};
}

std::vector<Value> all_reduce(Builder& builder, std::vector<Value> values, int group_size) {
  if (group_size == 1 || values.empty()) return values;
  return complete(builder, AllReduceStart{.group_size = group_size}, std::move(values));
}

std::vector<Value> reduce_scatter(Builder& builder, std::vector<Value> values, int group_size) {
  if (group_size == 1 || values.empty()) return values;
  return complete(builder, ReduceScatterStart{.group_size = group_size}, std::move(values));
}

std::vector<Value> all_gather(Builder& builder, std::vector<Value> values, int group_size) {
  if (group_size == 1 || values.empty()) return values;
  return complete(builder, AllGatherStart{.group_size = group_size}, std::move(values));
}

Value axis_index(Builder& builder) {
  return builder.add(AxisIndex{}, {});
}

}  // namespace toroid
