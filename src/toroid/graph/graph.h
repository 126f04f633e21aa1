// The intermediate representation: one training step as a static-shape, pure function
//   (state, batch, scalars) -> (state', outputs),
// the same on every rank (SPMD).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "toroid/graph/op.h"

namespace toroid {

/// Devices by axis. Collectives name their group within the data axis.
struct Mesh {
  int data = 1;  ///< replicas: each holds a part of the global batch
  friend bool operator==(const Mesh&, const Mesh&) = default;
};

/// Where a graph input comes from.
enum class InputKind { kState, kBatch, kScalar };

/// A graph input. State: the variable's name. Batch: "images", "labels", "ids", "weights".
/// Scalar: "learning_rate" (any float type), "step" (i32), "seed" (u32).
struct Input {
  static constexpr std::string_view kName = "input";
  InputKind kind = InputKind::kState;
  std::string name;
  TensorType type;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types, Types) const { return {}; }
  template <class V>
  void attributes(V& visit) const {
    visit("kind", std::string_view(kind == InputKind::kState   ? "state"
                                   : kind == InputKind::kBatch ? "batch"
                                                               : "scalar"));
    visit("name", name);
  }
};

/// One application of an op. `path` is unique in its graph ("stage2/block3/conv1/conv2d").
struct Node {
  Op op;
  std::string path;
  std::vector<Value> inputs;
  std::vector<TensorType> types;  ///< of the outputs
};

/// A named result: a state update (name of the variable) or an output.
struct Binding {
  std::string name;
  Value value;
  bool per_example = false;  ///< outputs only: first dimension is the replica's examples
};

/// Nodes in execution order: operands come before their users.
struct Graph {
  Mesh mesh;
  std::vector<Node> nodes;
  std::vector<Binding> updates;  ///< variables not named here stay as they are
  std::vector<Binding> outputs;

  const Node& node(Value value) const { return nodes[static_cast<std::size_t>(value.node)]; }
  const TensorType& type(Value value) const {
    return node(value).types[static_cast<std::size_t>(value.index)];
  }
  /// "stem/conv2d", or "stem/statistics:1" for a later output: for messages and printing.
  std::string name(Value value) const;
};

/// Checks a graph's invariants; Error naming the node's path when one fails:
/// operands dominate their users, types are what the ops infer, paths are unique, each variable is
/// read by one input and updated at most once with its own type, each collective start is met by
/// exactly one done, and group sizes divide the data axis.
void verify(const Graph& graph);

/// The graph as text, one node a line:
///   stem/conv2d: f32[8,28,28,16] = conv2d(normalize, stem/kernel) stride=[1,1] padding=[1,1,1,1]
std::string print(const Graph& graph);

/// Sum of the nodes' costs, for one replica.
Cost total_cost(const Graph& graph);

}  // namespace toroid
