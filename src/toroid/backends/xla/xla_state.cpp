#include "toroid/backends/xla/xla_state.h"

#include "toroid/base/error.h"

namespace toroid {

XlaState::XlaState(std::shared_ptr<PjrtClient> client, std::vector<int> devices, StateSchema schema)
    : client_(std::move(client)),
      devices_(std::move(devices)),
      schema_(std::move(schema)),
      buffers_(devices_.size()) {
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    if (!index_.emplace(schema_[i].name, i).second) {
      fail("state: two variables are named {}", schema_[i].name);
    }
    const Tensor zeros(schema_[i].type);
    for (std::size_t replica = 0; replica < devices_.size(); ++replica) {
      buffers_[replica].push_back(client_->buffer_from_host(zeros, devices_[replica]));
    }
  }
}

std::size_t XlaState::index_of(const std::string& name) const {
  const auto found = index_.find(name);
  if (found == index_.end()) fail("state: there is no variable {}", name);
  return found->second;
}

Tensor XlaState::read(const std::string& name) const {
  return buffers_[0][index_of(name)]->to_host();
}

void XlaState::write(const std::string& name, const Tensor& value) {
  const std::size_t variable = index_of(name);
  if (schema_[variable].type != value.type()) {
    fail("state: the variable {} is {}, the value to write is {}", name,
         schema_[variable].type.str(), value.type().str());
  }
  for (std::size_t replica = 0; replica < devices_.size(); ++replica) {
    replace(replica, variable, client_->buffer_from_host(value, devices_[replica]));
  }
}

}  // namespace toroid
