// The variables of a run on the devices of a PJRT client. For the xla backend's own .cpp files.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "toroid/backends/backend.h"
#include "toroid/backends/xla/pjrt.h"

namespace toroid {

/// A copy of every variable on each of `devices`; read from the first.
class XlaState final : public State {
 public:
  /// All variables zero; Error when a name comes twice.
  XlaState(std::shared_ptr<PjrtClient> client, std::vector<int> devices, StateSchema schema);

  const StateSchema& schema() const override { return schema_; }
  Tensor read(const std::string& name) const override;
  void write(const std::string& name, const Tensor& value) override;

  const PjrtClient* client() const { return client_.get(); }
  /// The position of a variable in the schema; Error when there is no such variable.
  std::size_t index_of(const std::string& name) const;
  PjrtBuffer* buffer(std::size_t replica, std::size_t variable) const {
    return buffers_[replica][variable].get();
  }
  void replace(std::size_t replica, std::size_t variable, std::unique_ptr<PjrtBuffer> buffer) {
    buffers_[replica][variable] = std::move(buffer);
  }

 private:
  std::shared_ptr<PjrtClient> client_;
  std::vector<int> devices_;  // of the replicas
  StateSchema schema_;
  std::map<std::string, std::size_t> index_;
  std::vector<PjrtBuffers> buffers_;  // [replica][variable]
};

}  // namespace toroid
