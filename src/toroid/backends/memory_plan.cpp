#include "toroid/backends/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace toroid {
namespace {

std::size_t round_up(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

bool live_together(const BufferLifetime& a, const BufferLifetime& b) {
  return a.first <= b.last && b.first <= a.last;
}

}  // namespace

MemoryPlan plan_memory(std::span<const BufferLifetime> buffers, std::size_t alignment) {
  MemoryPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return buffers[a].bytes > buffers[b].bytes;
  });
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t i : order) {
    const std::size_t size = round_up(buffers[i].bytes, alignment);
    std::size_t offset = 0;
    for (const std::size_t other : placed) {
      if (!live_together(buffers[i], buffers[other])) continue;
      if (offset + size <= plan.offsets[other]) break;
      offset = std::max(offset, plan.offsets[other] + round_up(buffers[other].bytes, alignment));
    }
    plan.offsets[i] = offset;
    plan.bytes = std::max(plan.bytes, offset + size);
    const auto place = std::upper_bound(
        placed.begin(), placed.end(), offset,
        [&](std::size_t value, std::size_t other) { return value < plan.offsets[other]; });
    placed.insert(place, i);
  }
  return plan;
}

namespace {

// Calls f(step, live bytes) where the live bytes change.
template <class F>
void for_each_change(std::span<const BufferLifetime> buffers, std::size_t alignment, F&& f) {
  std::map<int, std::pair<std::size_t, std::size_t>> changes;  // step -> bytes born, bytes freed
  for (const BufferLifetime& buffer : buffers) {
    changes[buffer.first].first += round_up(buffer.bytes, alignment);
    changes[buffer.last + 1].second += round_up(buffer.bytes, alignment);
  }
  std::size_t live = 0;
  for (const auto& [step, change] : changes) {
    live += change.first;
    live -= change.second;
    f(step, live);
  }
}

}  // namespace

std::size_t peak_live_bytes(std::span<const BufferLifetime> buffers, std::size_t alignment) {
  std::size_t peak = 0;
  for_each_change(buffers, alignment, [&](int, std::size_t live) { peak = std::max(peak, live); });
  return peak;
}

int busiest_step(std::span<const BufferLifetime> buffers, std::size_t alignment) {
  std::size_t peak = 0;
  int busiest = -1;
  for_each_change(buffers, alignment, [&](int step, std::size_t live) {
    if (live <= peak) return;
    peak = live;
    busiest = step;
  });
  return busiest;
}

}  // namespace toroid
