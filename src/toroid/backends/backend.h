// The contract between the trainer and whatever executes graphs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "toroid/base/tensor.h"
#include "toroid/graph/graph.h"

namespace toroid {

/// One replica's part of a global batch, in the replica's L slots.
struct Batch {
  Tensor images;   ///< u8 [L,H,W,C]
  Tensor labels;   ///< i32 [L]
  Tensor ids;      ///< u32 [L]: the example's index in its data set
  Tensor weights;  ///< f32 [L]: 1, or 0 for padding and skipped records
};

/// What the host supplies to each step.
struct Scalars {
  double learning_rate = 0;
  std::int64_t step = 0;  ///< updates done before this one
  std::uint64_t seed = 0;
};

/// Results by name. Replicated outputs (sums, counts, scalars) are already reduced over the data
/// axis by the graph; per-example ones are concatenated over this process's replicas.
using Outputs = std::map<std::string, Tensor>;

/// Names and types of the variables of a State, in logical form.
struct StateVariable {
  std::string name;
  TensorType type;
};
using StateSchema = std::vector<StateVariable>;

/// The variables of a run, owned by a backend, in whatever layout and place it likes. Reading and
/// writing are in logical form, so that no checkpoint knows a layout, backend or world size.
class State {
 public:
  virtual ~State() = default;
  virtual const StateSchema& schema() const = 0;
  /// Error when there is no such variable.
  virtual Tensor read(const std::string& name) const = 0;
  /// Error when there is no such variable or the type differs.
  virtual void write(const std::string& name, const Tensor& value) = 0;
};

/// One node of a compiled graph and the time that it took, over all runs so far.
struct NodeTime {
  std::string path;     ///< in its graph
  std::string_view op;  ///< the op's label
  std::int64_t runs = 0;
  double seconds = 0;
  Cost cost;  ///< of one run
};

/// One run of one node, for a trace. `node` is its place in node_times().
struct NodeEvent {
  int node = 0;
  double start = 0;  ///< seconds on the machine's steady clock
  double seconds = 0;
};

/// The memory of a compiled graph, in bytes.
struct MemoryUse {
  std::size_t arena = 0;  ///< everything between a step's inputs and its results
  std::size_t live = 0;   ///< of it in use at the busiest node: no arena needs less
  std::string busiest;    ///< that node's path
  struct Buffer {
    std::string path;  ///< of the value that lies there, or of the node whose scratch it is
    std::size_t bytes = 0;
  };
  std::vector<Buffer> at_busiest;  ///< what is in use there, the largest first
};

/// A compiled graph. One executable runs one step at a time.
class Executable {
 public:
  virtual ~Executable() = default;
  /// Runs one step: reads and updates `state`, which must hold every variable of the graph.
  /// `batches` has one entry per local replica; a graph that takes no batch ignores it. The outputs
  /// stay as they are until the next run.
  virtual const Outputs& run(State& state, std::span<const Batch> batches,
                             const Scalars& scalars) = 0;

  /// What each node took, in execution order; nothing where the backend does not know.
  virtual std::vector<NodeTime> node_times() const { return {}; }
  /// From now on each run adds its nodes' events to `events`, or to nothing when it is null.
  virtual void trace(std::vector<NodeEvent>* /*events*/) {}
  /// Nothing but zeros where the backend does not know.
  virtual MemoryUse memory() const { return {}; }
};

/// A way to execute graphs; alive longer than what it made.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  /// Replicas that this process drives: 1, or the number of devices under XLA.
  virtual int local_replicas() const = 0;
  /// All variables zero.
  virtual std::unique_ptr<State> create_state(const StateSchema& schema) = 0;
  virtual std::unique_ptr<Executable> compile(const Graph& graph) = 0;
};

/// The variables that a graph reads, in the order of their inputs.
StateSchema state_schema(const Graph& graph);

}  // namespace toroid
