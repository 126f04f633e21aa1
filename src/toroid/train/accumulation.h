// Gradient accumulation: sums over micro-batches, kept between graphs in the State.
#pragma once

#include <vector>

#include "toroid/train/step_update.h"

namespace toroid {

/// The variables that hold StepSums between the micro-batches of an update: accumulator/loss_sum,
/// accumulator/gradient/<parameter>, ...; zero between updates. Each replica's are its own: the
/// sums over its examples, so that replicas communicate once per update.
std::vector<Variable> accumulators(const ModelVariables& model, DType dtype);

/// Adds the sums of one micro-batch, which all have values.
void accumulate(Builder& builder, const ModelVariables& model, DType dtype, const StepSums& sums);

/// What was accumulated; sets the accumulators back to zero.
StepSums take_accumulated(Builder& builder, const ModelVariables& model, DType dtype);

}  // namespace toroid
