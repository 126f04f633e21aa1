// What the machines of a run give to its ranks, in one line, and what is less than it should be.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "toroid/base/machine.h"

namespace toroid {

/// "node7: 4 ranks of 2 threads on CPUs 0-7, shared, AVX-512". One entry per rank.
std::string describe_machines(std::span<const MachineShare> ranks);

/// One line for each thing that costs speed, with what to do about it:
/// - a cgroup's quota below the CPUs of the affinity mask;
/// - ranks with more threads than the CPUs that they share;
/// - CPUs that OMP_NUM_THREADS, or the launcher's binding of several ranks, leaves unused, where
///   each rank could have one more;
/// - ranks with half of another's threads, or with other vector instructions.
/// What is the same on several hosts is one line. Nothing when all is well.
std::vector<std::string> machine_warnings(std::span<const MachineShare> ranks);

}  // namespace toroid
