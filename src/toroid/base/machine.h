// What this machine gives to this process.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace toroid {

/// What one process gets of its machine, as read, without judging it (machine_report.h does).
struct MachineShare {
  std::string host;
  std::string instructions;  ///< instruction_set()
  std::vector<int> cpus;     ///< the affinity mask, ascending
  std::vector<int> offered;  ///< CPUs of its cgroup, ascending: more than `cpus` where a launcher
                             ///< has bound it; equal where that is not known
  double quota = 0;          ///< CPUs' worth of time that its cgroup allows; 0: no limit
  int stated = 0;            ///< OMP_NUM_THREADS; 0: none

  /// Threads worth starting: the CPUs of the affinity mask, capped by the quota (rounded up) and by
  /// OMP_NUM_THREADS (which a launcher sets for each rank), at least 1. Not the number of cores of
  /// the machine.
  int threads() const;
  friend bool operator==(const MachineShare&, const MachineShare&) = default;
};

/// This process's.
MachineShare machine_share();

/// Text and back, to tell other processes. Error when it is no such text.
std::string to_text(const MachineShare& share);
MachineShare machine_share_of(std::string_view text);

/// "0-3,8" for ascending numbers, as the kernel writes them; and back, nothing for malformed text.
std::string format_cpu_list(std::span<const int> cpus);
std::vector<int> parse_cpu_list(std::string_view text);

/// machine_share().threads(), without asking for what else there is.
int usable_threads();

/// "AVX-512 + bf16", "AVX2", ...: the widest vector extension of this CPU.
std::string instruction_set();

/// The largest resident set that this process has had so far.
std::size_t peak_resident_bytes();

/// This machine's host name.
std::string host_name();

}  // namespace toroid
