// A training run: from a recipe to a run folder.
#pragma once

#include <filesystem>

#include "toroid/train/engine.h"
#include "toroid/train/recipe.h"

namespace toroid {

struct TrainOptions {
  std::filesystem::path run_folder;
  BackendOptions backend;
  bool fresh = false;  ///< refuse a folder that holds anything, instead of going on with its run
};

/// Trains as the recipe says, or goes on from the newest checkpoint of the run folder. All ranks
/// call it; rank 0 writes recipe.toml, metrics.jsonl, summary.json, TensorBoard events,
/// checkpoints. Errors: ranks that disagree about recipe or data, a recipe that differs from the
/// one the folder was begun with (naming the keys), data or model errors, a non-finite step under
/// "stop".
void train(const Recipe& recipe, const TrainOptions& options, Communicator& communicator);

}  // namespace toroid
