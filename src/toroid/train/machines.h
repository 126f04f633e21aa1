// What a run says of its machines when it begins.
#pragma once

#include "toroid/comm/communicator.h"

namespace toroid {

/// One line on the machines of all ranks, and the warnings of machine_report.h. All ranks call it;
/// rank 0 speaks for them.
void announce_machines(Communicator& communicator);

}  // namespace toroid
