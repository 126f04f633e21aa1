// What this machine gives to this process.
#pragma once

#include <cstddef>
#include <string>

namespace toroid {

/// Threads worth starting: the CPUs of the affinity mask, capped by the cgroup's CPU quota
/// (rounded up) and by OMP_NUM_THREADS (which a launcher sets for each rank), at least 1. Not the
/// number of cores of the machine.
int usable_threads();

/// "AVX-512 + bf16", "AVX2", ...: the widest vector extension of this CPU.
std::string instruction_set();

/// The largest resident set that this process has had so far.
std::size_t peak_resident_bytes();

/// This machine's host name.
std::string host_name();

}  // namespace toroid
