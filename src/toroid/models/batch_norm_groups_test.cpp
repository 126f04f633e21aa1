#include "toroid/models/batch_norm_groups.h"

#include <gtest/gtest.h>

#include "toroid/base/testing.h"

namespace toroid {
namespace {

void expect_groups(BatchPartition partition, std::int64_t local_groups, int group_size) {
  const BatchNormGroups groups = batch_norm_groups(partition);
  EXPECT_EQ(groups.local_groups, local_groups);
  EXPECT_EQ(groups.group_size, group_size);
}

TEST(BatchNormGroups, TheSameGroupLiesInsideAReplicaOrOverSeveral) {
  expect_groups({.global_batch = 256, .replicas = 1, .batch_norm_batch = 64}, 4, 1);
  expect_groups({.global_batch = 256, .replicas = 4, .batch_norm_batch = 64}, 1, 1);
  // Ying et al., 2018: 32,768 examples on 2,048 cores, 16 each; statistics over 64 span 4 cores.
  expect_groups({.global_batch = 32768, .replicas = 2048, .batch_norm_batch = 64}, 1, 4);
}

TEST(BatchNormGroups, TheWholeGlobalBatchTilesAtAnyWorldSize) {
  for (int replicas = 1; replicas <= 7; ++replicas) {
    expect_groups({.global_batch = 48, .replicas = replicas, .batch_norm_batch = 48}, 1, replicas);
  }
}

TEST(BatchNormGroups, AValueThatDoesNotTileNamesThoseThatDo) {
  EXPECT_ERROR(batch_norm_groups({.global_batch = 12, .replicas = 3, .batch_norm_batch = 5}),
               "model.batch_norm_batch = 5: groups of that many examples do not tile a batch "
               "of 12 over 3 replicas of 4; possible: 1, 2, 4, 12");
  EXPECT_ERROR(batch_norm_groups({.global_batch = 8, .replicas = 2, .batch_norm_batch = 0}),
               "possible: 1, 2, 4, 8");
}

}  // namespace
}  // namespace toroid
