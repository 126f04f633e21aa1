#include "toroid/train/run_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "toroid/base/machine.h"
#include "toroid/base/testing.h"

namespace toroid {
namespace {

TEST(RunLock, TheSecondIsToldWhoHoldsTheFolder) {
  const TemporaryFolder folder;
  const RunLock first(folder.path());
  EXPECT_ERROR(RunLock(folder.path()), "in use by process " + std::to_string(::getpid()) + " on " +
                                           host_name() + "; wait for it, or give another --out");
}

TEST(RunLock, IsFreeAgainWhenItsHolderEnds) {
  const TemporaryFolder folder;
  { const RunLock first(folder.path()); }
  EXPECT_NO_THROW(RunLock(folder.path()));
}

}  // namespace
}  // namespace toroid
