// What graph -> graph passes share: copying a graph node by node while replacing some values.
#pragma once

#include <vector>

#include "toroid/graph/graph.h"

namespace toroid {

class Rewriter {
 public:
  explicit Rewriter(const Graph& source);

  /// Appends source node `index` with its operands mapped, under its own path.
  void copy(int index);
  /// The same with these operands, which are new values.
  void copy(int index, std::vector<Value> inputs);
  /// Another op in the node's place, under the node's path; results of the types that it infers.
  void copy_as(Op op, int index, std::vector<Value> inputs);
  /// Appends a new node under `path` and returns its only output; operands are new values.
  Value add(Op op, const std::string& path, std::vector<Value> inputs);
  /// Users of the source value `from` shall use the new value `to`.
  void replace(Value from, Value to);
  /// The new value that stands for a source value. Error when its node was not copied.
  Value map(Value source) const;
  /// The type of a new value.
  const TensorType& type(Value value) const { return target_.type(value); }

  /// Maps updates and outputs, verifies, hands over.
  Graph finish();

 private:
  const Graph& source_;
  Graph target_;
  std::vector<std::vector<Value>> mapped_;  // by source node and output
};

/// Users of each node's outputs: users[node][output] lists (user node, operand position), updates
/// and outputs as (-1, position among them).
struct Use {
  int node;
  int position;
};
std::vector<std::vector<std::vector<Use>>> uses_of(const Graph& graph);

}  // namespace toroid
