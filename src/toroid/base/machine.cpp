#include "toroid/base/machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "toroid/base/error.h"

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

// The folders of this process's cgroup (v2) and of those that it lies in, the innermost first.
std::vector<std::string> cgroup_folders() {
  std::ifstream file("/proc/self/cgroup");
  std::string line, group;
  while (std::getline(file, line)) {
    if (line.starts_with("0::")) group = line.substr(3);
  }
  std::vector<std::string> folders;
  while (true) {
    folders.push_back("/sys/fs/cgroup" + group);
    if (group.empty() || group == "/") return folders;
    group.resize(group.rfind('/'));
  }
}

double tightest_quota() {
  double tightest = 0;
  for (const std::string& folder : cgroup_folders()) {
    const double quota = quota_of(folder + "/cpu.max");
    if (quota > 0 && (tightest == 0 || quota < tightest)) tightest = quota;
  }
  return tightest;
}

// Of the innermost cgroup that says; nothing where none does.
std::vector<int> cgroup_cpus() {
  for (const std::string& folder : cgroup_folders()) {
    std::ifstream file(folder + "/cpuset.cpus.effective");
    std::string text;
    if (std::getline(file, text) && !text.empty()) return parse_cpu_list(text);
  }
  return {};
}

std::vector<int> affinity() {
  cpu_set_t set;
  std::vector<int> cpus;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return {0};  // more than CPU_SETSIZE
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

// What threads() depends on.
MachineShare limits() {
  MachineShare share;
  share.cpus = affinity();
  share.quota = tightest_quota();
  // OpenMP's own reading: the first number of a list, ignored when it is none.
  const char* stated = std::getenv("OMP_NUM_THREADS");
  share.stated = stated == nullptr ? 0 : std::max(std::atoi(stated), 0);
  return share;
}

}  // namespace

int MachineShare::threads() const {
  int threads = static_cast<int>(cpus.size());
  if (quota > 0) threads = std::min(threads, static_cast<int>(std::ceil(quota)));
  if (stated > 0) threads = std::min(threads, stated);
  return std::max(threads, 1);
}

MachineShare machine_share() {
  MachineShare share = limits();
  share.host = host_name();
  share.instructions = instruction_set();
  share.offered = cgroup_cpus();
  // Bound from outside the cgroup, or a cgroup that says nothing: no launcher to tell of.
  if (!std::ranges::includes(share.offered, share.cpus)) share.offered = share.cpus;
  return share;
}

std::string to_text(const MachineShare& share) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", share.host, share.instructions,
                     format_cpu_list(share.cpus), format_cpu_list(share.offered), share.quota,
                     share.stated);
}

MachineShare machine_share_of(std::string_view text) {
  std::istringstream lines{std::string(text)};
  MachineShare share;
  std::string cpus, offered;
  std::getline(lines, share.host);
  std::getline(lines, share.instructions);
  std::getline(lines, cpus);
  std::getline(lines, offered);
  if (!(lines >> share.quota >> share.stated)) fail("\"{}\" describes no machine", text);
  share.cpus = parse_cpu_list(cpus);
  share.offered = parse_cpu_list(offered);
  return share;
}

std::string format_cpu_list(std::span<const int> cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", cpus[i]);
    if (last > i) text += fmt::format("-{}", cpus[last]);
    i = last + 1;
  }
  return text;
}

std::vector<int> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  std::istringstream parts{std::string(text)};
  std::string part;
  while (std::getline(parts, part, ',')) {
    int first = 0, last = 0;
    char rest = 0;
    const int read = std::sscanf(part.c_str(), "%d-%d%c", &first, &last, &rest);
    if (read == 1 && part.find('-') == std::string::npos)
      last = first;
    else if (read != 2)
      return {};
    if (first < 0 || last < first || last >= CPU_SETSIZE * 64) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

int usable_threads() {
  return limits().threads();
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
