// The graphs of a run, all built from one model function over one set of variables.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "toroid/graph/graph.h"
#include "toroid/models/net.h"
#include "toroid/optim/optimizer.h"

namespace toroid {

struct StepOptions {
  std::string model;
  std::int64_t classes = 0;
  std::vector<std::int64_t> head;  ///< widths of dense layers before the classifier
  std::int64_t image_height = 0, image_width = 0, channels = 0;
  std::int64_t global_batch = 0;  ///< examples of one update, over all replicas
  int replicas = 1;               ///< the data axis
  DType dtype = DType::f32;       ///< of variables; f64 with the reference backend
  bool bf16 = false;              ///< convolutions and what is between them (mixed_precision.h)
  std::int64_t batch_norm_batch = 64;
  bool zero_init_last_gamma = false;
  double label_smoothing = 0;
  OptimizerOptions optimizer;
  double clip_norm = 0;  ///< of the mean gradient over all parameters; 0: not clipped
  double ema = 0;        ///< decay of the variables' moving average; 0: none (weight_average.h)
  int accumulate = 1;    ///< micro-batches of an update

  /// Examples of one micro-batch over all replicas, ceil(global_batch / accumulate): what one run
  /// of every graph but `apply` takes. The last ones of an update may be smaller or missing.
  std::int64_t micro_batch() const;
};

/// Forward, loss, backward, gradient reduction, moving statistics and update.
/// Inputs: images, labels [, weights in the masked form], learning_rate, step.
/// Outputs, reduced over all replicas: loss_sum, top1, top5 (counts), examples (the weight sum),
/// gradient_norm (of the mean loss, before clipping), finite (bool: loss and gradient; else the
/// state stays as it was).
Graph build_train_graph(const StepOptions& options, bool masked);

/// Gradient accumulation: the same in two graphs. `accumulate` takes a micro-batch and adds its
/// sums (loss, metrics, gradients of the loss sum, batch-norm statistics) to
/// accumulation_variables; no outputs. `apply` takes no batch: it divides by the total weight,
/// updates, and clears; outputs and scalars of build_train_graph. Both together are the train graph
/// of the whole global batch, where batch_norm_batch tiles the micro-batch.
Graph build_accumulate_graph(const StepOptions& options, bool masked);
Graph build_apply_graph(const StepOptions& options);

/// Moving statistics, no label smoothing; with ema, the averages of all variables. Inputs: images,
/// labels, weights, ids. Outputs: loss_sum, top1, top5, examples, reduced; logits, ids, per
/// example.
Graph build_evaluate_graph(const StepOptions& options);

/// As evaluation. Inputs: images. Outputs: logits, per example.
Graph build_predict_graph(const StepOptions& options);

/// All variables of the train graph with their initial values' rule: the model's in order, then the
/// optimizer's, then the averages, which start as copies of the model's. What a checkpoint holds.
std::vector<Variable> step_variables(const StepOptions& options);

/// Those that `accumulate` and `apply` have besides: zero between updates, so that no checkpoint
/// needs them. None where accumulate is 1.
std::vector<Variable> accumulation_variables(const StepOptions& options);

}  // namespace toroid
