#include "toroid/models/net.h"

#include "toroid/base/error.h"
#include "toroid/base/random.h"
#include "toroid/ops/batch_norm.h"
#include "toroid/ops/concat.h"
#include "toroid/ops/dropout.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/matmul.h"
#include "toroid/ops/relu.h"
#include "toroid/ops/sum.h"

namespace toroid {

Value Net::variable(std::string_view name, Shape shape, Initializer initializer, bool trainable) {
  Variable declared{builder_.scope_path() + std::string(name),
                    {options_.dtype, std::move(shape)},
                    initializer,
                    trainable};
  const Value value = builder_.input(InputKind::kState, declared.name, declared.type);
  variables_.push_back(std::move(declared));
  values_.push_back(value);
  return value;
}

Value Net::conv(std::string_view name, Value x, const ConvOptions& options) {
  const auto inside = scope(name);
  const Shape input = shape(x);
  const Value kernel = variable(
      "kernel",
      {options.kernel[0], options.kernel[1], input.back() / options.groups, options.filters},
      Initializer::kHeNormalFanOut);
  const Padding padding =
      options.padding.value_or(same_padding({input[1], input[2]}, options.kernel, options.stride));
  const Value y = conv2d(builder_, x, kernel,
                         {.stride = options.stride, .padding = padding, .groups = options.groups});
  if (!options.bias) return y;
  return add_bias(builder_, y, variable("bias", {options.filters}, Initializer::kZeros));
}

Value Net::dense(std::string_view name, Value x, std::int64_t units) {
  const auto inside = scope(name);
  const Value kernel = variable("kernel", {shape(x).back(), units}, Initializer::kUniformFanIn);
  const Value bias = variable("bias", {units}, Initializer::kZeros);
  return add_bias(builder_, matmul(builder_, x, kernel), bias);
}

Value Net::classify(Value features, std::int64_t classes) {
  for (std::size_t i = 0; i < options_.head.size(); ++i) {
    const auto inside = scope("head");
    features = relu(dense("dense" + std::to_string(i + 1), features, options_.head[i]));
  }
  return dense("classifier", features, classes);
}

Value Net::batch_norm(std::string_view name, Value x, const BatchNormOptions& options) {
  const auto inside = scope(name);
  const std::int64_t channels = shape(x).back();
  const Shape per_channel{channels};
  std::vector<Value> affine;
  if (options.gamma) {
    affine.push_back(variable("gamma", per_channel,
                              options.zero_gamma ? Initializer::kZeros : Initializer::kOnes));
  }
  if (options.beta) affine.push_back(variable("beta", per_channel, Initializer::kZeros));
  const Value moving_mean = variable("moving_mean", per_channel, Initializer::kZeros, false);
  const Value moving_variance = variable("moving_variance", per_channel, Initializer::kOnes, false);

  BatchNormApply apply{.epsilon = options.epsilon, .gamma = options.gamma, .beta = options.beta};
  std::vector<Value> operands{x};
  if (options_.training) {
    const BatchNormGroups shared = groups();
    const BatchMoments moments =
        batch_norm_moments(builder_, x, options_.weights, shared.local_groups, shared.group_size);
    std::string path = builder_.scope_path();
    path.pop_back();  // the trailing '/'
    statistics_.push_back(
        {std::move(path), options.momentum, moments.count, moments.mean, moments.variance});
    apply.count = true;
    apply.weights = static_cast<bool>(options_.weights);
    apply.group_size = shared.group_size;
    operands.insert(operands.end(), {moments.mean, moments.variance});
    operands.insert(operands.end(), affine.begin(), affine.end());
    operands.push_back(moments.count);
    if (apply.weights) operands.push_back(options_.weights);
  } else {
    const Shape one_group{1, channels};
    operands.push_back(reshape(builder_, moving_mean, one_group));
    operands.push_back(reshape(builder_, moving_variance, one_group));
    operands.insert(operands.end(), affine.begin(), affine.end());
  }
  return builder_.add(apply, std::move(operands));
}

Value Net::relu(Value x) {
  return toroid::relu(builder_, x);
}
Value Net::add(Value a, Value b) {
  return toroid::add(builder_, a, b);
}
Value Net::max_pool(Value x, const MaxPool& options) {
  return toroid::max_pool(builder_, x, options);
}
Value Net::avg_pool(Value x, const AvgPool& options) {
  return toroid::avg_pool(builder_, x, options);
}
Value Net::concat(std::vector<Value> values) {
  const std::int64_t channels = shape(values.at(0)).rank() - 1;
  return toroid::concat(builder_, std::move(values), channels);
}
Value Net::local_response_norm(Value x, const LocalResponseNorm& options) {
  return toroid::local_response_norm(builder_, x, options);
}
Value Net::global_average_pool(Value x) {
  return toroid::global_average_pool(builder_, x);
}

Value Net::dropout(std::string_view name, Value x, double rate) {
  if (!options_.training) return x;
  const std::uint32_t key = purpose_hash(builder_.scope_path() + std::string(name));
  const auto inside = scope(name);
  const Value ids = builder_.input(InputKind::kBatch, "ids", {DType::u32, Shape{shape(x)[0]}});
  const Value seed = builder_.input(InputKind::kScalar, "seed", {DType::u32, Shape{}});
  const Value step = builder_.input(InputKind::kScalar, "step", {DType::i32, Shape{}});
  return toroid::dropout(builder_, x, ids, seed, step, {.rate = rate, .key = key});
}

Value Net::flatten(Value x) {
  const Shape from = shape(x);
  return reshape(builder_, x, {from[0], from.elements() / from[0]});
}

void Net::require_size(Value x, std::int64_t pixels) const {
  const Shape& size = shape(x);
  if (size[1] < pixels || size[2] < pixels) {
    fail("the pictures must be {}x{} or larger", pixels, pixels);
  }
}

}  // namespace toroid
