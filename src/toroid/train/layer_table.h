// What a model is made of: one row a layer, read off the graphs that run.
#pragma once

#include <string>
#include <vector>

#include "toroid/train/step.h"

namespace toroid {

/// The ops that share a layer's variables, or one op of a layer without variables.
struct LayerRow {
  std::string path;                 ///< of the layer ("stage1/block1/conv1") or of the op
  Shape output;                     ///< of its last op, with the batch
  std::vector<Variable> variables;  ///< in the model's order
  double flops = 0;                 ///< of a forward pass, per picture

  std::int64_t parameters() const;  ///< trained values
};

struct LayerTable {
  std::vector<LayerRow> rows;  ///< in the order of a forward pass
  std::int64_t trainable = 0;  ///< values that are trained
  std::int64_t all = 0;        ///< with the moving statistics
  double forward_flops = 0;    ///< of a prediction, per picture; a multiply-add counts as two
  double training_flops = 0;   ///< of a training step with its update, per picture
};

/// Of the prediction graph and the training graph, for batches of options.global_batch.
LayerTable layer_table(const StepOptions& options);

}  // namespace toroid
