// What runs one node of a compiled graph, and how it is made.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "toroid/graph/graph.h"

namespace toroid {

class Communicator;
class Request;

namespace cpu {

class OneDnn;

/// Collectives in flight, by the start's node. Filled by starts, emptied by dones.
using InFlight = std::vector<std::unique_ptr<Request>>;

/// What a kernel is built from; lives only while the kernel is built.
struct NodeContext {
  const Graph& graph;
  int index;
  std::vector<TensorType> inputs;
  Communicator& communicator;
  const OneDnn& onednn;
  InFlight& in_flight;

  const Node& node() const { return graph.nodes[static_cast<std::size_t>(index)]; }
  const std::vector<TensorType>& outputs() const { return node().types; }
  /// The attributes; T is the op that the kernel's factory is registered for.
  template <class T>
  const T& op() const {
    return *node().op.as<T>();
  }
};

/// The buffers of one run: row-major tensors, activations NHWC, kernels HWIO.
struct Arguments {
  std::span<std::byte* const> inputs;
  std::span<std::byte* const> outputs;
  std::byte* scratch = nullptr;

  template <class T>
  const T* input(std::size_t i) const {
    return reinterpret_cast<const T*>(inputs[i]);
  }
  template <class T>
  T* output(std::size_t i = 0) const {
    return reinterpret_cast<T*>(outputs[i]);
  }
  /// Scratch memory from a byte offset on.
  template <class T>
  T* scratch_at(std::size_t offset = 0) const {
    return reinterpret_cast<T*>(scratch + offset);
  }
};

/// How an output may use an operand's buffer.
enum class Reuse {
  kNone,
  kOverwrite,  ///< may write over it, element by element, once nobody reads it later
  kSame,       ///< is it: the kernel writes nothing there
};

/// One node, ready to run: everything that depends on shapes alone is done when it is built.
class Kernel {
 public:
  Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  virtual ~Kernel() = default;

  virtual void run(const Arguments& arguments) = 0;
  /// Memory that it needs while it runs, aligned to 64 bytes.
  virtual std::size_t scratch_bytes() const { return 0; }
  virtual Reuse reuse(std::size_t /*input*/, std::size_t /*output*/) const { return Reuse::kNone; }
};

using KernelFactory = std::unique_ptr<Kernel> (*)(const NodeContext& context);

/// The factory of an op's kernels; null when the backend has none. The table is in kernels.cpp.
KernelFactory find_kernel(std::string_view op);

/// Bytes rounded up, so that what follows is aligned as well.
inline std::size_t aligned(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

}  // namespace cpu
}  // namespace toroid
