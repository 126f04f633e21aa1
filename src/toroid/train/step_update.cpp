#include "toroid/train/step_update.h"

#include "toroid/ops/collectives.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/sum.h"
#include "toroid/passes/gradient_reduction.h"
#include "toroid/train/weight_average.h"

namespace toroid {
namespace {

constexpr std::int64_t kBucketBytes = 16 << 20;

std::vector<Value> mean_gradients(Builder& builder, const StepSums& sums) {
  auto gradients = reduce_gradients(builder, sums.gradients, kBucketBytes);
  const auto scope = builder.scope("mean_gradient");
  for (Value& gradient : gradients) gradient = divide(builder, gradient, sums.metrics.examples);
  return gradients;
}

// By clip_norm / max(norm, clip_norm), the form of TensorFlow's clip_by_global_norm (Pascanu et
// al., 2013, algorithm 1). An infinite norm makes NaN here, which the predicate keeps out.
void clip(Builder& builder, double clip_norm, Value norm, std::vector<Value>& gradients) {
  const auto scope = builder.scope("clip_gradient");
  const Value limit = constant(builder, clip_norm, builder.type(norm));
  const Value factor = divide(builder, limit, maximum(builder, norm, limit));
  for (Value& gradient : gradients) gradient = multiply(builder, gradient, factor);
}

Value scalar(Builder& builder, const StepOptions& options, const char* name, DType dtype) {
  const Value input = builder.input(InputKind::kScalar, name, {dtype, Shape{}});
  return convert(builder, input, options.dtype);
}

std::vector<VariableUpdate> variable_updates(Builder& builder, const StepOptions& options,
                                             const ModelVariables& model, const StepSums& sums,
                                             const std::vector<Value>& gradients) {
  const auto optimizer = make_optimizer(options.optimizer);
  const UpdateScalars scalars{scalar(builder, options, "learning_rate", options.dtype),
                              scalar(builder, options, "step", DType::i32)};
  std::vector<VariableUpdate> of_model = moving_statistics(
      builder, model.moving, sums.statistics, model.moving_shared ? 1 : options.replicas);
  std::vector<VariableUpdate> others;
  std::size_t next = 0;
  for (const Variable& variable : model.all) {
    if (!variable.trainable) continue;
    const Value value = builder.input(InputKind::kState, variable.name, variable.type);
    for (auto& update : optimizer->update(builder, variable, value, gradients[next++], scalars)) {
      (update.variable == variable.name ? of_model : others).push_back(std::move(update));
    }
  }
  if (options.ema > 0) {
    auto averages = average_weights(builder, options.ema, scalars.step, of_model);
    others.insert(others.end(), averages.begin(), averages.end());
  }
  of_model.insert(of_model.end(), others.begin(), others.end());
  return of_model;
}

}  // namespace

MetricSums reduce_metrics(Builder& builder, const StepOptions& options, const MetricSums& local) {
  const auto scope = builder.scope("metrics");
  std::vector<Value> sums{local.loss, local.top1, local.top5};
  if (local.examples) sums.push_back(local.examples);
  auto total = all_reduce(builder, std::move(sums), options.replicas);
  if (!local.examples) {
    const std::int64_t slots = replica_batch(options.micro_batch(), options.replicas);
    total.push_back(
        constant(builder, static_cast<double>(slots * options.replicas), options.dtype));
  }
  return {total[0], total[1], total[2], total[3]};
}

void output_metrics(Builder& builder, const MetricSums& metrics) {
  builder.output("loss_sum", metrics.loss);
  builder.output("top1", metrics.top1);
  builder.output("top5", metrics.top5);
  builder.output("examples", metrics.examples);
}

void add_update(Builder& builder, const StepOptions& options, const ModelVariables& model,
                const StepSums& sums) {
  auto gradients = mean_gradients(builder, sums);
  const Value squares = sum_squares(builder, gradients);
  // One predicate for loss and gradient: a sum of both is finite only when each is.
  const Value finite = is_finite(builder, add(builder, squares, sums.metrics.loss));
  const Value norm = sqrt(builder, squares);
  if (options.clip_norm > 0) clip(builder, options.clip_norm, norm, gradients);
  const auto updates = variable_updates(builder, options, model, sums, gradients);
  {
    const auto scope = builder.scope("keep_finite");
    for (const VariableUpdate& update : updates) {
      builder.update(update.variable, select(builder, finite, update.new_value, update.old_value));
    }
  }
  output_metrics(builder, sums.metrics);
  builder.output("gradient_norm", norm);
  builder.output("finite", finite);
}

}  // namespace toroid
