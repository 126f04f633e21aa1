// What `toroid bench step` prints.
#pragma once

#include <string>

#include "toroid/train/step_bench.h"

namespace toroid {

/// One JSON object on one line (docs/guide/profiling.md).
std::string step_bench_json(const StepBenchOptions& options, const StepBenchResult& result);

/// The same for people: several lines, a table of the ops where the backend knows their times.
std::string step_bench_table(const StepBenchOptions& options, const StepBenchResult& result);

}  // namespace toroid
