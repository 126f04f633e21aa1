// From recipe and data to the options of the step.
#pragma once

#include "toroid/data/loader.h"
#include "toroid/train/engine.h"
#include "toroid/train/evaluation.h"
#include "toroid/train/recipe.h"
#include "toroid/train/step.h"

namespace toroid {

/// Class count, picture size and channels come from the data where the recipe leaves them open.
/// Error (exit status 2) naming the key that neither gives, or that contradicts the data.
StepOptions step_options(const Recipe& recipe, const Dataset& dataset, int replicas);

/// The backend that was asked for, with what the recipe says of it.
BackendOptions backend_options(const Recipe& recipe, BackendOptions asked);

/// The loader of this process's part of the training data.
LoaderOptions training_loader(const Recipe& recipe, const StepOptions& options,
                              const Placement& placement);

}  // namespace toroid
