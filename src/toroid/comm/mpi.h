// Ranks as processes, over MPI (Open MPI, MPICH); and the choice of a world for this process.
#pragma once

#include <memory>

#include "toroid/comm/communicator.h"

namespace toroid {

/// The world this process belongs to: MPI's when a launcher started it (see launch.h), else a world
/// of one. Call it once, before threads start; MPI runs until the communicator is destroyed.
///
/// Calls may come from several threads; the order of collectives is the order of the calls. Results
/// are those of the MPI library's own algorithms: the same for the same library, world and sizes.
///
/// A wait that takes longer than `timeout_seconds` is an Error that names rank and collective; a
/// rank may be that far behind the others (reading, evaluating) and no farther. After any exception
/// the communicator does not wait for the other ranks when destroyed; call exit_all_ranks then.
///
/// Error when MPI and the launcher do not agree on the number of ranks: a launcher of another MPI.
std::unique_ptr<Communicator> world_communicator(double timeout_seconds = 300);

/// Ends this process and, where MPI runs, every other rank with `status`. For an exception in one
/// rank, after its error line: the others would wait for it.
[[noreturn]] void exit_all_ranks(int status);

}  // namespace toroid
