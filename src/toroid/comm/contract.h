// What every communicator must do, as checks that the tests of each one run.
#pragma once

#include "toroid/comm/communicator.h"

namespace toroid {

/// Runs every collective over all group sizes of this world, dtypes and ragged lengths with exact
/// integer-valued data, then sums of fractions, buckets and several requests in flight. Every rank
/// calls it; Error with the first thing that is wrong.
void check_collectives(Communicator& communicator);

}  // namespace toroid
