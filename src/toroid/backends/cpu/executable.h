// A compiled graph on the CPU: kernels in order, their buffers in one arena.
#pragma once

#include <memory>
#include <vector>

#include "toroid/backends/backend.h"
#include "toroid/backends/cpu/arena.h"
#include "toroid/backends/cpu/kernel.h"
#include "toroid/backends/cpu/lay_out.h"
#include "toroid/backends/cpu/storage.h"

namespace toroid::cpu {

struct ExecutableOptions {
  int threads = 1;
  bool fast_convolutions = true;
};

class CpuExecutable : public Executable {
 public:
  /// Builds the kernels and plans memory; Error naming the node that this backend cannot run.
  CpuExecutable(const Graph& graph, const LayoutRules& rules, Communicator& communicator,
                const OneDnn& onednn, const ExecutableOptions& options);
  CpuExecutable(const CpuExecutable&) = delete;
  CpuExecutable& operator=(const CpuExecutable&) = delete;
  ~CpuExecutable() override;

  const Outputs& run(State& state, std::span<const Batch> batches, const Scalars& scalars) override;
  std::vector<NodeTime> node_times() const override;
  void trace(std::vector<NodeEvent>* events) override { events_ = events; }
  MemoryUse memory() const override { return memory_; }

 private:
  // One node: its kernel and the buffers that it runs on.
  struct Step {
    int node = 0;
    std::unique_ptr<Kernel> kernel;
    std::vector<std::byte*> inputs, outputs;
    std::byte* scratch = nullptr;
    double seconds = 0;  // in all runs
  };
  // A buffer that comes anew with each run, and where its address goes.
  struct ExternalInput {
    int node = 0;
    std::vector<std::byte**> places;
    Tensor held;  // a scalar, or a converted part of the batch
  };
  // A graph result: an update of a variable or an output.
  struct Result {
    const Binding* binding;
    std::byte* data = nullptr;
    std::byte* staged = nullptr;  // updates from a variable's own memory go through here
  };

  void build_kernels(Communicator& communicator, const OneDnn& onednn);
  void place_buffers();
  void connect(const StorageAssignment& storage, std::vector<std::byte*>& addresses);
  void bring_in(State& state, std::span<const Batch> batches, const Scalars& scalars);
  void run_steps();
  void take_outputs();
  void apply_updates(State& state);

  LaidOutGraph laid_out_;
  const Graph& graph_;
  ExecutableOptions options_;
  Arena arena_;
  InFlight in_flight_;  // goes before the arena, which requests may still touch
  std::vector<Step> steps_;
  std::vector<ExternalInput> external_;
  std::vector<Result> updates_, results_;
  Outputs outputs_;
  std::int64_t runs_ = 0;
  std::vector<NodeEvent>* events_ = nullptr;
  MemoryUse memory_;
};

}  // namespace toroid::cpu
