// The variables of a run in host memory, for backends that compute there.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "toroid/backends/backend.h"

namespace toroid {

/// Holds each variable as one dense tensor in logical form.
class HostState : public State {
 public:
  /// All variables zero; Error when a name comes twice.
  explicit HostState(StateSchema schema);

  const StateSchema& schema() const override { return schema_; }
  Tensor read(const std::string& name) const override { return tensor(name); }
  void write(const std::string& name, const Tensor& value) override;

  /// The variable itself, without a copy. The address stays valid as long as the state does; what
  /// is assigned to it must keep its type. Error when there is no such variable.
  Tensor& tensor(const std::string& name);
  const Tensor& tensor(const std::string& name) const;

 private:
  StateSchema schema_;
  std::map<std::string, Tensor> tensors_;
};

/// The variable that a graph's input of kind kState reads; Error when there is none or it has
/// another type.
const Tensor& variable_for(const Input& input, const HostState& state);

/// The state as a HostState that holds every variable the graph reads, with its type; Error naming
/// the variable that is missing or of another type.
HostState& host_state_for(const Graph& graph, State& state);

}  // namespace toroid
