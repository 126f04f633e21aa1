#include "toroid/models/batch_norm_groups.h"

#include <fmt/format.h>

#include <vector>

#include "toroid/base/error.h"

namespace toroid {
namespace {

bool tiles(std::int64_t group, const BatchPartition& partition) {
  if (group == partition.global_batch) return true;
  if (partition.global_batch % group != 0) return false;
  const std::int64_t slots = replica_batch(partition.global_batch, partition.replicas);
  if (slots % group == 0) return true;
  return group % slots == 0 && partition.replicas % (group / slots) == 0;
}

[[noreturn]] void refuse(const BatchPartition& partition) {
  std::vector<std::int64_t> possible;
  for (std::int64_t group = 1; group <= partition.global_batch; ++group) {
    if (tiles(group, partition)) possible.push_back(group);
  }
  fail_usage(
      "model.batch_norm_batch = {}: groups of that many examples do not tile a batch of {} "
      "over {} replicas of {}; possible: {}",
      partition.batch_norm_batch, partition.global_batch, partition.replicas,
      replica_batch(partition.global_batch, partition.replicas), fmt::join(possible, ", "));
}

}  // namespace

std::int64_t replica_batch(std::int64_t global_batch, int replicas) {
  return (global_batch + replicas - 1) / replicas;
}

BatchNormGroups batch_norm_groups(const BatchPartition& partition) {
  const std::int64_t group = partition.batch_norm_batch;
  if (group < 1 || !tiles(group, partition)) refuse(partition);
  if (group == partition.global_batch) return {.group_size = partition.replicas};
  const std::int64_t slots = replica_batch(partition.global_batch, partition.replicas);
  if (slots % group == 0) return {.local_groups = slots / group};
  return {.group_size = static_cast<int>(group / slots)};
}

}  // namespace toroid
