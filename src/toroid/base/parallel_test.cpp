#include "toroid/base/parallel.h"

#include <gtest/gtest.h>

#include <vector>

#include "toroid/base/error.h"
#include "toroid/base/testing.h"

namespace toroid {
namespace {

TEST(ParallelFor, CallsEachIndexOnceAndReportsTheLowestFailure) {
  for (const int threads : {1, 2, 9}) {
    std::vector<int> calls(50);
    parallel_for(calls.size(), threads, [&](std::size_t i) { ++calls[i]; });
    EXPECT_EQ(calls, std::vector<int>(50, 1));
    EXPECT_ERROR(parallel_for(50, threads,
                              [](std::size_t i) {
                                if (i % 20 == 7) fail("at {}", i);
                              }),
                 "at 7");
  }
}

}  // namespace
}  // namespace toroid
