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
  std::int64_t global_batch = 0;
  int replicas = 1;          ///< the data axis
  DType dtype = DType::f32;  ///< f64 with the reference backend
  std::int64_t batch_norm_batch = 64;
  bool zero_init_last_gamma = false;
  double label_smoothing = 0;
  OptimizerOptions optimizer;
};

/// Forward, loss, backward, gradient reduction, moving statistics and update.
/// Inputs: images, labels [, weights in the masked form], learning_rate, step.
/// Outputs, reduced over all replicas: loss_sum, top1, top5 (counts), examples (the weight sum),
/// gradient_norm (of the mean loss), finite (bool: loss and gradient; else the state stays as it
/// was).
Graph build_train_graph(const StepOptions& options, bool masked);

/// Moving statistics, no label smoothing. Inputs: images, labels, weights, ids.
/// Outputs: loss_sum, top1, top5, examples, reduced; logits, ids, per example.
Graph build_evaluate_graph(const StepOptions& options);

/// Inputs: images. Outputs: logits, per example.
Graph build_predict_graph(const StepOptions& options);

/// All variables of the train graph with their initial values' rule: the model's in order, then the
/// optimizer's.
std::vector<Variable> step_variables(const StepOptions& options);

}  // namespace toroid
