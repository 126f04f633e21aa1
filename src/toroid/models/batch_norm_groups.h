// Which examples share batch-norm statistics.
#pragma once

#include <cstdint>

namespace toroid {

/// How the examples of a global batch lie on replicas, and how many share statistics.
struct BatchPartition {
  std::int64_t global_batch = 1;
  int replicas = 1;
  std::int64_t batch_norm_batch = 1;
};

/// `local_groups` equal groups of consecutive examples inside each replica's batch, or one group
/// that spans `group_size` consecutive replicas.
struct BatchNormGroups {
  std::int64_t local_groups = 1;
  int group_size = 1;
};

/// Examples in each replica's slots: ceil(global_batch / replicas); the rest is padding.
std::int64_t replica_batch(std::int64_t global_batch, int replicas);

/// Statistics over `batch_norm_batch` consecutive examples of the global batch: groups inside a
/// replica where its slots are a multiple of it, groups of replicas where it is a multiple of the
/// slots, all replicas where it is the global batch. So a recipe means the same at any world size
/// (Ying et al., 2018, distributed batch normalization). Error (exit status 2) naming the values
/// that would do.
BatchNormGroups batch_norm_groups(const BatchPartition& partition);

}  // namespace toroid
