// Class probabilities of single pictures.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "toroid/train/engine.h"
#include "toroid/train/run_folder.h"

namespace toroid {

struct Prediction {
  std::filesystem::path file;
  std::vector<double> probabilities;  ///< softmax of the logits, one per class

  /// The classes by falling probability; equal ones by index.
  std::vector<std::int64_t> ranked() const;
};

/// Decodes, fits each picture to the model's square as evaluation does, and runs the model in
/// batches. Error naming the file for the first one that cannot be read; nothing is run then.
std::vector<Prediction> predict(const Run& run, const BackendOptions& backend,
                                std::span<const std::filesystem::path> files);

}  // namespace toroid
