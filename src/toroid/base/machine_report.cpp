#include "toroid/base/machine_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace toroid {
namespace {

// Ranks on the same CPUs, and what one host's ranks add up to.
struct Crowd {
  int ranks = 0;
  int threads = 0;
  int most_threads = 0;  // of one rank
  std::set<int> cpus;

  void add(const MachineShare& share) {
    ++ranks;
    threads += share.threads();
    most_threads = std::max(most_threads, share.threads());
    cpus.insert(share.cpus.begin(), share.cpus.end());
  }
  void add(const Crowd& other) {
    ranks += other.ranks;
    threads += other.threads;
    most_threads = std::max(most_threads, other.most_threads);
    cpus.insert(other.cpus.begin(), other.cpus.end());
  }
  bool meets(const Crowd& other) const {
    return std::ranges::any_of(other.cpus, [&](int cpu) { return cpus.contains(cpu); });
  }
  int count() const { return static_cast<int>(cpus.size()); }
  // "CPUs 0-3"
  std::string list() const {
    return fmt::format("CPU{} {}", count() == 1 ? "" : "s",
                       format_cpu_list(std::vector<int>(cpus.begin(), cpus.end())));
  }
};

struct Host {
  std::string name;
  Crowd all;
  std::vector<Crowd> crowds;  // no CPU is in two of them
  std::set<int> offered;
  double quota = 0;  // the tightest
  int stated = 0;    // the smallest

  // CPUs' worth of time that the ranks can have.
  int capacity() const {
    const int limit = quota > 0 ? static_cast<int>(std::ceil(quota)) : all.count();
    return std::max(std::min(all.count(), limit), 1);
  }
  int unbound() const { return std::max(static_cast<int>(offered.size()) - all.count(), 0); }
};

std::vector<Crowd> crowds_of(const std::vector<const MachineShare*>& shares) {
  std::vector<Crowd> crowds;
  for (const MachineShare* share : shares) {
    Crowd joined;
    joined.add(*share);
    std::erase_if(crowds, [&](const Crowd& crowd) {
      if (!crowd.meets(joined)) return false;
      joined.add(crowd);
      return true;
    });
    crowds.push_back(std::move(joined));
  }
  return crowds;
}

std::vector<Host> hosts_of(std::span<const MachineShare> ranks) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const MachineShare*>> by_name;
  for (const MachineShare& share : ranks) {
    if (!by_name.contains(share.host)) order.push_back(share.host);
    by_name[share.host].push_back(&share);
  }
  std::vector<Host> hosts;
  for (const std::string& name : order) {
    Host host;
    host.name = name;
    host.crowds = crowds_of(by_name[name]);
    for (const MachineShare* share : by_name[name]) {
      host.all.add(*share);
      host.offered.insert(share->offered.begin(), share->offered.end());
      if (share->quota > 0 && (host.quota == 0 || share->quota < host.quota)) {
        host.quota = share->quota;
      }
      if (share->stated > 0 && (host.stated == 0 || share->stated < host.stated)) {
        host.stated = share->stated;
      }
    }
    hosts.push_back(std::move(host));
  }
  return hosts;
}

std::string counted(int count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

// "2 threads", "1 to 4 threads".
std::string counted(std::pair<int, int> range, std::string_view noun) {
  if (range.first == range.second) return counted(range.first, noun);
  return fmt::format("{} to {} {}s", range.first, range.second, noun);
}

template <class Entries, class F>
std::pair<int, int> range_of(const Entries& entries, F&& number) {
  const auto [least, most] =
      std::ranges::minmax_element(entries, {}, [&](const auto& entry) { return number(entry); });
  return {number(*least), number(*most)};
}

std::string ranks_of_threads(const Crowd& crowd) {
  if (crowd.ranks == 1) return counted(crowd.threads, "thread");
  if (crowd.threads != crowd.ranks * crowd.most_threads) {
    return fmt::format("{} with {} threads", counted(crowd.ranks, "rank"), crowd.threads);
  }
  return fmt::format("{} of {}", counted(crowd.ranks, "rank"),
                     counted(crowd.most_threads, "thread"));
}

void check_quota(const Host& host, std::vector<std::string>& found) {
  if (host.quota == 0 || host.quota >= host.all.count()) return;
  found.push_back(
      fmt::format("the cgroup's quota is {:.3g} of {}: raise the CPU limit of the container or job",
                  host.quota, counted(host.all.count(), "CPU")));
}

// True when ranks take turns on their CPUs.
bool check_crowding(const Host& host, std::vector<std::string>& found) {
  const auto excess = [](const Crowd& crowd) { return crowd.threads - crowd.count(); };
  const Crowd& worst = *std::ranges::max_element(host.crowds, {}, excess);
  if (excess(worst) > 0) {
    const std::string what = fmt::format("{} on {}", ranks_of_threads(worst), worst.list());
    const int unused = host.unbound();
    if (unused > 0) {
      found.push_back(fmt::format(
          "{}, and {} unused: let the launcher bind ranks to CPUs of their own, or to none "
          "(mpirun --bind-to none)",
          what, counted(unused, "CPU")));
    } else if (worst.ranks > worst.count()) {
      found.push_back(fmt::format("{}: start at most {}", what, counted(worst.count(), "rank")));
    } else {
      found.push_back(fmt::format("{}: set OMP_NUM_THREADS={}", what, worst.count() / worst.ranks));
    }
    return true;
  }
  if (host.all.threads <= host.capacity()) return false;
  found.push_back(
      fmt::format("{} on a quota of {:.3g} CPUs: {}", ranks_of_threads(host.all), host.quota,
                  host.all.ranks > host.capacity()
                      ? "start fewer ranks"
                      : fmt::format("set OMP_NUM_THREADS={}", host.capacity() / host.all.ranks)));
  return true;
}

void check_unused(const Host& host, std::vector<std::string>& found) {
  const int idle = host.capacity() - host.all.threads;
  if (host.stated > 0 && idle >= host.all.ranks) {
    found.push_back(fmt::format("OMP_NUM_THREADS={} leaves {} of {} unused: set it to {}",
                                host.stated, idle, counted(host.capacity(), "CPU"),
                                host.capacity() / host.all.ranks));
  }
  if (host.all.ranks > 1 && host.unbound() >= host.all.ranks) {
    found.push_back(
        fmt::format("{} bound to {} of {} CPUs: give each more (mpirun --map-by slot:PE={}, srun "
                    "--cpus-per-task={})",
                    counted(host.all.ranks, "rank"), host.all.count(), host.offered.size(),
                    host.offered.size() / static_cast<std::size_t>(host.all.ranks),
                    host.offered.size() / static_cast<std::size_t>(host.all.ranks)));
  }
}

void check_evenness(std::span<const MachineShare> ranks, std::vector<std::string>& found) {
  const auto threads = range_of(ranks, [](const MachineShare& share) { return share.threads(); });
  if (threads.second >= 2 * threads.first) {
    found.push_back(
        fmt::format("ranks have {}: the slowest sets the pace of all", counted(threads, "thread")));
  }
  std::map<std::string, std::string> host_with;
  for (const MachineShare& share : ranks) host_with.emplace(share.instructions, share.host);
  if (host_with.size() == 1) return;
  std::string list;
  for (const auto& [instructions, host] : host_with) {
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", instructions, host);
  }
  found.push_back(
      fmt::format("hosts have different instructions: {}; the slowest sets the pace of "
                  "all",
                  list));
}

}  // namespace

std::string describe_machines(std::span<const MachineShare> ranks) {
  const std::vector<Host> hosts = hosts_of(ranks);
  const Host& first = hosts.front();
  const std::string instructions = ranks.front().instructions;
  if (ranks.size() == 1) {
    const std::string bound =
        first.unbound() > 0
            ? fmt::format(" (bound to {} of {})", first.all.count(), first.offered.size())
            : "";
    return fmt::format("{}: {} on {}{}, {}", first.name, counted(first.all.threads, "thread"),
                       first.all.list(), bound, instructions);
  }
  const bool own = std::ranges::all_of(
      hosts, [](const Host& host) { return std::ssize(host.crowds) == host.all.ranks; });
  const auto threads = range_of(ranks, [](const MachineShare& share) { return share.threads(); });
  const std::string each = fmt::format("of {}", counted(threads, "thread"));
  const std::string_view sharing = own ? "each on its own" : "shared";
  if (hosts.size() == 1) {
    return fmt::format("{}: {} {} on {}, {}, {}", first.name, counted(first.all.ranks, "rank"),
                       each, first.all.list(), sharing, instructions);
  }
  const auto per_host = range_of(hosts, [](const Host& host) { return host.all.ranks; });
  const auto cpus = range_of(hosts, [](const Host& host) { return host.all.count(); });
  return fmt::format("{} hosts ({}, ...): {} {}, {} on {} a host, {}, {}", hosts.size(), first.name,
                     counted(static_cast<int>(ranks.size()), "rank"), each,
                     counted(per_host, "rank"), counted(cpus, "CPU"), sharing, instructions);
}

std::vector<std::string> machine_warnings(std::span<const MachineShare> ranks) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::string>> hosts_with;
  for (const Host& host : hosts_of(ranks)) {
    std::vector<std::string> found;
    check_quota(host, found);
    if (!check_crowding(host, found)) check_unused(host, found);
    for (const std::string& text : found) {
      if (!hosts_with.contains(text)) order.push_back(text);
      hosts_with[text].push_back(host.name);
    }
  }
  std::vector<std::string> warnings;
  for (const std::string& text : order) {
    const std::vector<std::string>& hosts = hosts_with[text];
    const std::string others =
        hosts.size() > 1
            ? fmt::format(" and {}", counted(static_cast<int>(hosts.size()) - 1, "other host"))
            : "";
    warnings.push_back(fmt::format("{}{}: {}", hosts.front(), others, text));
  }
  check_evenness(ranks, warnings);
  return warnings;
}

}  // namespace toroid
