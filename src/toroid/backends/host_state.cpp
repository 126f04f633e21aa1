#include "toroid/backends/host_state.h"

#include "toroid/base/error.h"

namespace toroid {

HostState::HostState(StateSchema schema) : schema_(std::move(schema)) {
  for (const StateVariable& variable : schema_) {
    if (!tensors_.emplace(variable.name, Tensor(variable.type)).second) {
      fail("state: two variables are named {}", variable.name);
    }
  }
}

void HostState::write(const std::string& name, const Tensor& value) {
  Tensor& variable = tensor(name);
  if (variable.type() != value.type()) {
    fail("state: the variable {} is {}, the value to write is {}", name, variable.type().str(),
         value.type().str());
  }
  variable = value;
}

const Tensor& HostState::tensor(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) fail("state: there is no variable {}", name);
  return found->second;
}

Tensor& HostState::tensor(const std::string& name) {
  return const_cast<Tensor&>(std::as_const(*this).tensor(name));
}

const Tensor& variable_for(const Input& input, const HostState& state) {
  const Tensor& variable = state.tensor(input.name);
  if (variable.type() != input.type) {
    fail("state: the variable {} is {}, the graph reads it as {}", input.name,
         variable.type().str(), input.type.str());
  }
  return variable;
}

HostState& host_state_for(const Graph& graph, State& state) {
  auto* host = dynamic_cast<HostState*>(&state);
  if (host == nullptr) fail("state: it was made by a backend that does not compute on the host");
  for (const Node& node : graph.nodes) {
    const auto* input = node.op.as<Input>();
    if (input != nullptr && input->kind == InputKind::kState) variable_for(*input, *host);
  }
  return *host;
}

}  // namespace toroid
