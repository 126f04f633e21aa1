// What a training step does with its sums: reduction, mean gradient, clipping, optimizer.
#pragma once

#include <vector>

#include "toroid/train/moving_statistics.h"
#include "toroid/train/step.h"

namespace toroid {

/// The model as its update sees it.
struct ModelVariables {
  std::vector<Variable> all;        ///< in the model's order
  std::vector<MovingLayer> moving;  ///< its batch norms
  bool moving_shared = false;       ///< every replica has the same group sums
};

/// Sums over examples, each a scalar.
struct MetricSums {
  Value loss, top1, top5;
  Value examples;  ///< of the weights; "no value": every slot holds a real example
};

/// Sums over examples of this replica: of one batch, or of several micro-batches.
struct StepSums {
  MetricSums metrics;
  std::vector<Value> gradients;   ///< of the loss sum, by trainable variable in the model's order
  std::vector<Value> statistics;  ///< group_sums
};

/// Over all replicas, in one small bucket; `examples` always has a value then.
MetricSums reduce_metrics(Builder& builder, const StepOptions& options, const MetricSums& local);
/// As the outputs loss_sum, top1, top5 and examples.
void output_metrics(Builder& builder, const MetricSums& metrics);

/// Reduces gradients and statistics, and adds all updates and the outputs of build_train_graph.
/// `sums.metrics` are reduced already, the others are local.
void add_update(Builder& builder, const StepOptions& options, const ModelVariables& model,
                const StepSums& sums);

}  // namespace toroid
