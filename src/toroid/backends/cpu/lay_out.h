// Choosing the layout of every value of a graph.
#pragma once

#include <functional>
#include <vector>

#include "toroid/backends/cpu/layout.h"
#include "toroid/graph/graph.h"

namespace toroid::cpu {

/// What a convolution wants of its activations and its kernel.
struct ConvolutionLayouts {
  Layout x = Layout::kRowMajor, y = Layout::kRowMajor;
  bool blocked_kernel = true;  ///< it can read and give a kernel in blocks
};

struct LayoutRules {
  /// What a convolution of these types wants: x, kernel, y of the forward pass.
  std::function<ConvolutionLayouts(const Node& node, const TensorType& x, const TensorType& kernel,
                                   const TensorType& y)>
      convolution;
  std::int64_t kernel_block = 0;     ///< of variables that hold kernels; see kernel_layout
  Layout every = Layout::kRowMajor;  ///< for tests: what follows its operands takes this instead
};

struct LaidOutGraph {
  Graph graph;                               ///< with a relayout node wherever layouts meet
  std::vector<std::vector<Layout>> layouts;  ///< by node and output

  Layout of(Value value) const {
    return layouts[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.index)];
  }
};

/// Convolutions choose the layouts of their activations, variables have that of kernel_layout, and
/// what lies between follows its operands. Graph outputs are row-major, updates like their
/// variable. A value gets each other layout at most once.
LaidOutGraph lay_out(const Graph& graph, const LayoutRules& rules);

}  // namespace toroid::cpu
