// Whether a run may go on from a checkpoint.
#pragma once

#include "toroid/train/checkpoint.h"
#include "toroid/train/recipe.h"

namespace toroid {

/// Error (exit status 2) naming what differs, when the checkpoint was made with a recipe of other
/// results, another global batch or other data. `recipe` is resolved.
void check_same_run(const Checkpoint& checkpoint, const Recipe& recipe, std::int64_t global_batch);

}  // namespace toroid
