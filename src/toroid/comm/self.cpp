#include "toroid/comm/self.h"

namespace toroid {

std::unique_ptr<Request> SelfCommunicator::start(Collective, std::span<const ConstBuffer> inputs,
                                                 std::span<const Buffer> outputs, int) {
  return copy_start(inputs, outputs);
}

}  // namespace toroid
