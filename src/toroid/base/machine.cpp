#include "toroid/base/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

namespace toroid {
namespace {

// The cgroup v2 quota in CPUs ("max 100000" or "150000 100000"), or 0 when there is none.
double quota_of(const std::string& path) {
  std::ifstream file(path);
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return 0;
  return std::strtod(quota.c_str(), nullptr) / period;
}

// The tightest quota from this process's cgroup up to the root.
double cpu_quota() {
  std::ifstream file("/proc/self/cgroup");
  std::string line, group;
  while (std::getline(file, line)) {
    if (line.starts_with("0::")) group = line.substr(3);
  }
  double tightest = 0;
  while (true) {
    const double quota = quota_of("/sys/fs/cgroup" + group + "/cpu.max");
    if (quota > 0 && (tightest == 0 || quota < tightest)) tightest = quota;
    if (group.empty() || group == "/") return tightest;
    group.resize(group.rfind('/'));
  }
}

}  // namespace

int usable_threads() {
  cpu_set_t set;
  int threads = 1;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) threads = CPU_COUNT(&set);
  const double quota = cpu_quota();
  if (quota > 0) threads = std::min(threads, static_cast<int>(std::ceil(quota)));
  // OpenMP's own reading: the first number of a list, ignored when it is none.
  const char* stated = std::getenv("OMP_NUM_THREADS");
  const int limit = stated == nullptr ? 0 : std::atoi(stated);
  if (limit > 0) threads = std::min(threads, limit);
  return std::max(threads, 1);
}

std::string instruction_set() {
#if defined(__x86_64__)
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && !line.starts_with("flags")) {
  }
  line += ' ';
  const auto has = [&](const char* flag) { return line.find(flag) != std::string::npos; };
  if (has(" amx_bf16 ")) return "AVX-512 + AMX";
  if (has(" avx512_bf16 ")) return "AVX-512 + bf16";
  if (has(" avx512f ")) return "AVX-512";
  if (has(" avx2 ")) return "AVX2";
  return "SSE";
#else
  return "generic";
#endif
}

std::size_t peak_resident_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

std::string host_name() {
  char name[256] = "unknown";
  ::gethostname(name, sizeof name - 1);
  return name;
}

}  // namespace toroid
