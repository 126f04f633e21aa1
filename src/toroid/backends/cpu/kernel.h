// What runs one node of a compiled graph, and how it is made.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "toroid/backends/cpu/layout.h"
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
  std::vector<Layout> input_layouts, output_layouts;
  Communicator& communicator;
  const OneDnn& onednn;
  InFlight& in_flight;
  bool fast_convolutions = true;  ///< Winograd's algorithm where it pays

  const Node& node() const { return graph.nodes[static_cast<std::size_t>(index)]; }
  const std::vector<TensorType>& outputs() const { return node().types; }
  /// The attributes; T is the op that the kernel's factory is registered for.
  template <class T>
  const T& op() const {
    return *node().op.as<T>();
  }
};

/// The buffers of one run, each tensor in its layout.
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

/// K<T> for the element type of the activation that is the first operand, float or BFloat16.
template <template <class> class K>
std::unique_ptr<Kernel> make_for_activation(const NodeContext& context) {
  if (context.inputs[0].dtype == DType::bf16) return std::make_unique<K<BFloat16>>(context);
  return std::make_unique<K<float>>(context);
}

/// What the layouts of an op's tensors have to do with each other.
enum class LayoutPolicy {
  kRowMajor,        ///< all are row-major
  kConvolution,     ///< activations as the convolution wants them
  kElementwise,     ///< all tensors of rank 4 lie alike, in any way
  kChannels,        ///< activations lie alike, in any layout of activations
  kEach,            ///< the i-th result lies as the i-th operand does
  kAnyElementwise,  ///< operands in any layout each, row-major results
  kAnyActivation,   ///< operands in any layout of activations, row-major results
  kSource,          ///< the result in whatever layout of activations its first user wants
};
LayoutPolicy layout_policy(const Node& node);

/// Bytes rounded up, so that what follows is aligned as well.
inline std::size_t aligned(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

}  // namespace cpu
}  // namespace toroid
