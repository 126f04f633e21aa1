// checkpoint.json: what a checkpoint says about itself (docs/formats/checkpoint.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "toroid/train/checkpoint.h"

namespace toroid {

inline constexpr const char* kCheckpointFile = "checkpoint.json";
inline constexpr const char* kStateFile = "state.safetensors";

/// What tells a damaged file from the one that was written.
struct Fingerprint {
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
};
Fingerprint fingerprint(const std::filesystem::path& path);

struct CheckpointContent {
  CheckpointInfo info;
  Fingerprint state;
};

/// The text of the file.
std::string checkpoint_json(const CheckpointInfo& info, const Fingerprint& state);
/// Error naming the path and the key when anything is missing or of the wrong kind.
CheckpointContent parse_checkpoint_json(const std::filesystem::path& path);

}  // namespace toroid
