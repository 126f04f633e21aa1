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

/// Memory of one process, in 10^6 bytes.
struct MemorySummary {
  double arena_mb = 0;     ///< all that lies between the inputs and the results of the graphs
  double live_mb = 0;      ///< of one graph's in use at its busiest node
  double state_mb = 0;     ///< variables
  double rss_mb = 0;       ///< the largest resident set
  std::string busiest;     ///< that node's path
  NamedValues at_busiest;  ///< what is in use there, by path, the largest few
};

/// Where the seconds of an attempt went, on the rank that tells.
struct TimeUse {
  double starting = 0;   ///< until the first step: reading, compiling, initial values
  double data_wait = 0;  ///< for the next batch
  double steps = 0;      ///< in the backend
  double evaluation = 0;
  double saving = 0;
  double other = 0;  ///< the rest: reports, the loop itself

  double sum() const { return starting + data_wait + steps + evaluation + saving + other; }
};

struct RunSummary {
  std::map<std::string, SplitSummary> splits;  ///< "validation", "test"
  double seconds = 0;                          ///< over all attempts
  double images_per_s = 0;
  std::int64_t parameters = 0;
  std::uint64_t seed = 0;
  int world_size = 1;
  TimeUse time;                                 ///< of the last attempt
  NamedValues ops;                              ///< seconds of time.steps by op, the longest first
  MemorySummary memory;                         ///< of the last attempt
  std::map<std::string, std::string> versions;  ///< {"toroid", "0.1.0"}, ...
  std::vector<Attempt> attempts;
};

/// Replaces the file at once.
void write_summary(const std::filesystem::path& path, const RunSummary& summary);
/// "time: steps 91% (conv2d 40%, ...), data wait 3%, ...", without what rounds to nothing; empty
/// where no time was taken.
std::string format_time(const TimeUse& time, const NamedValues& ops);
/// Nothing when there is no such file; Error naming the path and the key when it is malformed.
std::optional<RunSummary> read_summary(const std::filesystem::path& path);

}  // namespace toroid
