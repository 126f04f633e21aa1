#include "toroid/backends/xla/compile_options.h"

#include "toroid/backends/xla/compile_options.pb.h"
#include "toroid/base/error.h"

namespace toroid {

std::string serialized_compile_options(int num_replicas, int num_partitions,
                                       std::span<const int> device_ids) {
  if (num_replicas < 1 || num_partitions < 1) {
    fail("a program needs at least 1 replica and 1 partition, not {} and {}", num_replicas,
         num_partitions);
  }
  const auto wanted = static_cast<std::size_t>(num_replicas) * num_partitions;
  if (!device_ids.empty() && device_ids.size() != wanted) {
    fail("{} replicas x {} partitions need {} device ids, not {}", num_replicas, num_partitions,
         wanted, device_ids.size());
  }
  pjrt::CompileOptionsProto options;
  auto& build = *options.mutable_executable_build_options();
  build.set_device_ordinal(-1);  // "not set"; 0 would name a device
  build.set_num_replicas(num_replicas);
  build.set_num_partitions(num_partitions);
  build.set_use_spmd_partitioning(num_partitions > 1);
  if (!device_ids.empty()) {
    auto& assignment = *build.mutable_device_assignment();
    assignment.set_replica_count(num_replicas);
    assignment.set_computation_count(num_partitions);
    for (int partition = 0; partition < num_partitions; ++partition) {
      auto& computation = *assignment.add_computation_devices();
      for (int replica = 0; replica < num_replicas; ++replica) {
        computation.add_replica_device_ids(device_ids[replica * num_partitions + partition]);
      }
    }
  }
  return options.SerializeAsString();
}

}  // namespace toroid
