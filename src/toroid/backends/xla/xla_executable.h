// A graph compiled by XLA. For the xla backend's own .cpp files.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "toroid/backends/backend.h"
#include "toroid/backends/xla/pjrt.h"
#include "toroid/backends/xla/xla_state.h"

namespace toroid {

class XlaExecutable final : public Executable {
 public:
  /// Replica r runs on devices[r]; Error when the plugin would place it elsewhere.
  XlaExecutable(std::shared_ptr<PjrtClient> client, const std::vector<int>& devices, Graph graph);

  const Outputs& run(State& state, std::span<const Batch> batches, const Scalars& scalars) override;

 private:
  XlaState& checked(State& state) const;
  void check_batches(std::span<const Batch> batches) const;
  std::unique_ptr<PjrtBuffer> feed(const Input& input, std::span<const Batch> batches,
                                   std::size_t replica, const Scalars& scalars) const;
  Tensor fetch(const std::vector<PjrtBuffers>& results, std::size_t result,
               const Binding& output) const;

  std::shared_ptr<PjrtClient> client_;
  Graph graph_;
  std::vector<Input> inputs_;  // the program's parameters, in order
  std::unique_ptr<PjrtExecutable> program_;
  Outputs outputs_;
};

}  // namespace toroid
