// The variables of a run, kernels in the layout that convolutions want.
#pragma once

#include "toroid/backends/cpu/onednn.h"
#include "toroid/backends/host_state.h"

namespace toroid::cpu {

class CpuState : public State {
 public:
  /// `onednn` lives longer; `kernel_block` as in LayoutRules.
  CpuState(StateSchema schema, const OneDnn& onednn, std::int64_t kernel_block)
      : variables_(std::move(schema)), onednn_(onednn), kernel_block_(kernel_block) {}

  const StateSchema& schema() const override { return variables_.schema(); }
  Tensor read(const std::string& name) const override;
  void write(const std::string& name, const Tensor& value) override;

  /// The variables as they lie in memory.
  HostState& stored() { return variables_; }

 private:
  Tensor moved(const Tensor& tensor, Layout from, Layout to) const;

  HostState variables_;
  const OneDnn& onednn_;
  std::int64_t kernel_block_;
};

}  // namespace toroid::cpu
