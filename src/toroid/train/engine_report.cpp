#include "toroid/train/engine_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "toroid/base/machine.h"
#include "toroid/train/op_times.h"

namespace toroid {
namespace {

constexpr std::size_t kBuffersTold = 5;

double mb(std::size_t bytes) {
  return static_cast<double>(bytes) / 1e6;
}

}  // namespace

NamedValues training_seconds_by_op(const Engine& engine) {
  std::vector<NodeTime> nodes;
  for (const auto& [name, executable] : engine.executables()) {
    if (name == "evaluate" || name == "predict") continue;
    std::ranges::move(executable->node_times(), std::back_inserter(nodes));
  }
  return seconds_by_op(nodes);
}

MemorySummary memory_summary(Engine& engine) {
  MemorySummary summary{.state_mb = state_mb(engine.state()), .rss_mb = mb(peak_resident_bytes())};
  MemoryUse busiest;
  for (const auto& [name, executable] : engine.executables()) {
    MemoryUse use = executable->memory();
    summary.arena_mb += mb(use.arena);
    if (use.live > busiest.live) busiest = std::move(use);
  }
  summary.live_mb = mb(busiest.live);
  summary.busiest = busiest.busiest;
  for (std::size_t i = 0; i < std::min(kBuffersTold, busiest.at_busiest.size()); ++i) {
    summary.at_busiest.push_back({busiest.at_busiest[i].path, mb(busiest.at_busiest[i].bytes)});
  }
  return summary;
}

std::string format_memory(const MemorySummary& memory) {
  const std::string variables = fmt::format("variables {:.1f} MB", memory.state_mb);
  if (memory.at_busiest.empty()) return "memory: " + variables;
  const NamedValue& largest = memory.at_busiest.front();
  return fmt::format("memory: arenas {:.1f} MB ({:.1f} MB in use at {}, {:.1f} MB of it {}), {}",
                     memory.arena_mb, memory.live_mb, memory.busiest, largest.value, largest.name,
                     variables);
}

double state_mb(const State& state) {
  double sum = 0;
  for (const StateVariable& variable : state.schema()) sum += mb(variable.type.bytes());
  return sum;
}

}  // namespace toroid
