#include "toroid/base/machine.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "toroid/base/testing.h"

namespace toroid {
namespace {

TEST(Machine, ThreadsAreTheTightestOfAffinityQuotaAndOmpNumThreads) {
  MachineShare share{.cpus = {0, 1, 2, 3, 4, 5}};
  EXPECT_EQ(share.threads(), 6);
  share.quota = 3.2;
  EXPECT_EQ(share.threads(), 4);
  share.stated = 8;
  EXPECT_EQ(share.threads(), 4);
  share.stated = 2;
  EXPECT_EQ(share.threads(), 2);
  EXPECT_EQ(MachineShare{}.threads(), 1);
}

TEST(Machine, CpuListsAreWrittenAsTheKernelDoesAndReadBack) {
  EXPECT_EQ(format_cpu_list(std::vector<int>{}), "");
  EXPECT_EQ(format_cpu_list(std::vector{3}), "3");
  EXPECT_EQ(format_cpu_list(std::vector{0, 1, 2, 4, 6, 7}), "0-2,4,6-7");
  EXPECT_EQ(parse_cpu_list("0-2,4,6-7"), (std::vector{0, 1, 2, 4, 6, 7}));
  EXPECT_TRUE(parse_cpu_list("").empty());
  for (const char* malformed : {"a", "1-", "3-1", "-1", "1-2-3", "0-999999999"}) {
    EXPECT_TRUE(parse_cpu_list(malformed).empty()) << malformed;
  }
}

TEST(Machine, AShareSurvivesItsTravelAsText) {
  const MachineShare share{.host = "node7",
                           .instructions = "AVX-512 + bf16",
                           .cpus = {0, 1, 5},
                           .offered = {},
                           .quota = 1.0 / 3,
                           .stated = 4};
  EXPECT_EQ(machine_share_of(to_text(share)), share);
  EXPECT_ERROR(machine_share_of("nonsense"), "\"nonsense\" describes no machine");
}

TEST(Machine, ThisProcessHasAShareOfWhatIsOffered) {
  const MachineShare share = machine_share();
  EXPECT_FALSE(share.host.empty());
  EXPECT_FALSE(share.cpus.empty());
  EXPECT_TRUE(std::ranges::includes(share.offered, share.cpus));
  EXPECT_EQ(share.threads(), usable_threads());
  EXPECT_EQ(machine_share_of(to_text(share)), share);
}

}  // namespace
}  // namespace toroid
