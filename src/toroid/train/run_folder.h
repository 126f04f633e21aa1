// A run folder as the commands after training find it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "toroid/data/dataset.h"
#include "toroid/train/checkpoint.h"
#include "toroid/train/recipe.h"
#include "toroid/train/run_lock.h"
#include "toroid/train/step.h"

namespace toroid {

/// What a model's outputs mean and its inputs look like: model.json of the run folder.
struct ModelCard {
  std::vector<std::string> class_names;  ///< one per output; empty when the data set had no names
  int channels = 3;
  int image_size = 0;
};

void write_model_card(const std::filesystem::path& run_folder, const ModelCard& card);

struct Run {
  std::filesystem::path folder;
  Recipe recipe;  ///< resolved
  ModelCard card;
  Checkpoint checkpoint;  ///< the newest intact one

  /// "3" where there are no names.
  std::string class_name(std::int64_t label) const;
  /// For one replica with that many slots.
  StepOptions step_options(std::int64_t batch) const;
};

/// For the process that writes: makes the folder, takes its lock, and removes what a killed writer
/// left. Error when another process holds it, or when it holds a recipe.toml but is no run folder
/// (a run writes its own recipe.toml there).
std::unique_ptr<RunLock> claim_run_folder(const std::filesystem::path& folder);

/// Error naming what is missing when `folder` is no run folder, or has no checkpoint yet.
Run open_run(const std::filesystem::path& folder);

}  // namespace toroid
