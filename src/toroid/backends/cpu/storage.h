// Which values of a graph share a buffer, and how long each buffer is in use.
#pragma once

#include <functional>
#include <vector>

#include "toroid/backends/cpu/kernel.h"
#include "toroid/backends/memory_plan.h"

namespace toroid::cpu {

/// How output `output` of node `node` may use the buffer of its operand `input`.
using ReuseRule = std::function<Reuse(int node, std::size_t input, std::size_t output)>;

struct Storage {
  int input_node = -1;      ///< the graph input that brings the buffer from outside, or -1
  Value first_value;        ///< that lies there
  BufferLifetime lifetime;  ///< in steps, which are node indices; graph results live past the last

  bool external() const { return input_node >= 0; }
};

struct StorageAssignment {
  std::vector<Storage> storages;
  std::vector<std::vector<int>> of_node;  ///< the storage of each output of each node

  int of(Value value) const {
    return of_node[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.index)];
  }
};

/// A buffer that comes from outside is never written. An operand's buffer is overwritten only by
/// the last node that reads it. What a collective reads or writes stays until its done.
StorageAssignment assign_storage(const Graph& graph, const ReuseRule& reuse);

}  // namespace toroid::cpu
