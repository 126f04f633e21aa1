// A world of one rank.
#pragma once

#include "toroid/comm/communicator.h"

namespace toroid {

/// What a run without other ranks uses: every collective is a copy, done when it starts.
class SelfCommunicator : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }

 protected:
  std::unique_ptr<Request> start(Collective collective, std::span<const ConstBuffer> inputs,
                                 std::span<const Buffer> outputs, int group_size) override;
};

}  // namespace toroid
