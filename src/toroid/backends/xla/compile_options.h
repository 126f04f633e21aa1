// The serialized CompileOptionsProto that PJRT_Client_Compile and PJRT_Compile take.
#pragma once

#include <span>
#include <string>

namespace toroid {

/// Options for num_replicas x num_partitions devices. `device_ids` holds their ids, replica-major
/// (`[replica * num_partitions + partition]`), or is empty to leave the choice to the compiler
/// (ahead-of-time compilation). Error when the numbers do not fit.
std::string serialized_compile_options(int num_replicas, int num_partitions,
                                       std::span<const int> device_ids);

}  // namespace toroid
