// Ranks as threads of one process: for tests of everything that is distributed.
#pragma once

#include <functional>

#include "toroid/comm/communicator.h"

namespace toroid {

/// Runs `body` once per rank, each in a thread of its own, and returns when all have ended.
///
/// Sums are taken in rank order, so results are exact functions of the inputs. When a rank throws,
/// the others' waits end with an Error, and the first exception is thrown again here. The same
/// holds for a rank that returns, or calls another collective, while others wait for it: nothing
/// hangs unless `body` itself does.
void run_ranks(int world_size, const std::function<void(Communicator&)>& body);

}  // namespace toroid
