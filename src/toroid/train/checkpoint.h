// Checkpoints: folders of a run folder, complete or not there (docs/formats/checkpoint.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "toroid/train/safetensors.h"

namespace toroid {

/// The best evaluation so far; its checkpoint is kept besides the newest ones.
struct BestEvaluation {
  std::int64_t step = 0;
  std::map<std::string, double> metrics;
  friend bool operator==(const BestEvaluation&, const BestEvaluation&) = default;
};

/// Everything that resuming needs besides the tensors.
struct CheckpointInfo {
  std::int64_t step = 0;          ///< steps done
  std::int64_t epoch = 0;         ///< whole epochs done
  std::int64_t batches_done = 0;  ///< global batches done of the epoch after those
  std::uint64_t seed = 0;
  int world_size = 1;
  std::int64_t global_batch = 0;
  std::string recipe;                     ///< the resolved recipe, as TOML
  std::map<std::string, double> metrics;  ///< of the last evaluation; may be non-finite
  std::optional<BestEvaluation> best;
};

struct Checkpoint {
  std::filesystem::path path;
  CheckpointInfo info;
  std::vector<NamedTensor> tensors;
};

/// Publishes `run_folder`/step-<step, at least 6 digits> durably; a kill or a power loss at any
/// time leaves the checkpoints before it, or them and the new one. Then removes older checkpoints
/// but the `keep` (>= 1) newest, and what crashed saves left; nothing else in the folder is
/// touched. One process at a time. Error (disk full, ...) leaves older checkpoints as they were.
void save_checkpoint(const std::filesystem::path& run_folder, const CheckpointInfo& info,
                     std::span<const NamedTensor> tensors, int keep);

/// The checkpoint folders by rising step, as their content says it (their name, where that cannot
/// be read), intact or not. Empty when there are none, or no run folder.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& run_folder);

/// Reads checkpoint.json alone, without a look at the tensors.
CheckpointInfo read_checkpoint_info(const std::filesystem::path& folder);

/// Reads a checkpoint and checks size and CRC of its tensors.
Checkpoint load_checkpoint(const std::filesystem::path& folder);

/// The newest intact checkpoint; a warning for each newer one that is not. Nothing when the run has
/// none; Error when it has some and none is intact.
std::optional<Checkpoint> load_newest(const std::filesystem::path& run_folder);

/// The tensors of a run folder's newest intact checkpoint, a checkpoint folder, or a safetensors
/// file.
std::vector<NamedTensor> read_tensors(const std::filesystem::path& path);

}  // namespace toroid
