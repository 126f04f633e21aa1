// What an engine's executables took, and the memory that they and the variables hold.
#pragma once

#include <string>

#include "toroid/report/summary.h"
#include "toroid/train/engine.h"

namespace toroid {

/// Seconds by op that this process spent training so far, the longest first: over the runs of all
/// executables but `evaluate` and `predict`. Nothing where the backend does not know.
NamedValues training_seconds_by_op(const Engine& engine);

/// Memory of this process: the arenas of everything compiled so far, the busiest node among them,
/// the variables, the resident set.
MemorySummary memory_summary(Engine& engine);

/// "memory: arenas 812 MB (790 MB in use at gradient/stem/relu, 98 MB of it stem/conv/conv2d),
/// variables 204 MB".
std::string format_memory(const MemorySummary& memory);

/// All variables, in 10^6 bytes.
double state_mb(const State& state);

}  // namespace toroid
