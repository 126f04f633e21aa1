// Where buffers lie in one arena: those that are never live together share memory.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace toroid {

/// A buffer that holds something from step `first` to step `last`, both included.
struct BufferLifetime {
  std::size_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct MemoryPlan {
  std::vector<std::size_t> offsets;  ///< of each buffer, multiples of the alignment
  std::size_t bytes = 0;             ///< of the arena
};

/// Places the largest buffers first, each at the lowest offset that is free during its whole life
/// ("greedy by size", Pisarchyk and Lee, 2020). A pure function: equal lifetimes, equal plan.
MemoryPlan plan_memory(std::span<const BufferLifetime> buffers, std::size_t alignment = 64);

/// The step at which most bytes are live, the first of equals; -1 without buffers.
int busiest_step(std::span<const BufferLifetime> buffers, std::size_t alignment = 64);

/// The bytes that are live at the busiest step, each buffer rounded up to the alignment: no plan
/// needs less.
std::size_t peak_live_bytes(std::span<const BufferLifetime> buffers, std::size_t alignment = 64);

}  // namespace toroid
