// summary.json: what came out of a run (docs/formats/run_folder.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "toroid/report/named_value.h"

namespace toroid {

/// A metric's values on one split.
struct SplitSummary {
  NamedValues final_values;  ///< of the last evaluation: "top1", ...
  NamedValues best_values;   ///< of the evaluation that was best by the recipe's measure
  std::optional<std::int64_t> best_step;
};

/// One start of the program on this run: the first, or a resume.
struct Attempt {
  std::string started;  ///< UTC, "2026-03-01T09:30:00Z"
  std::int64_t first_step = 0, last_step = 0;
  double seconds = 0;
  int world_size = 1;
  std::string outcome;  ///< "done", "preempted", "failed: ..."
};

struct RunSummary {
  std::map<std::string, SplitSummary> splits;  ///< "validation", "test"
  double seconds = 0;                          ///< over all attempts
  double images_per_s = 0;
  std::int64_t parameters = 0;
  std::uint64_t seed = 0;
  int world_size = 1;
  std::map<std::string, std::string> versions;  ///< {"toroid", "0.1.0"}, ...
  std::vector<Attempt> attempts;
};

/// Replaces the file at once.
void write_summary(const std::filesystem::path& path, const RunSummary& summary);
/// Nothing when there is no such file; Error naming the path and the key when it is malformed.
std::optional<RunSummary> read_summary(const std::filesystem::path& path);

}  // namespace toroid
