#include "toroid/base/machine_report.h"

#include <gtest/gtest.h>

namespace toroid {
namespace {

using Lines = std::vector<std::string>;

// A rank on the CPUs first .. last of a host that offers `offered`.
MachineShare rank_on(const std::string& host, int first, int last, int offered, int stated = 0) {
  MachineShare share{.host = host, .instructions = "AVX2"};
  for (int cpu = first; cpu <= last; ++cpu) share.cpus.push_back(cpu);
  for (int cpu = 0; cpu < offered; ++cpu) share.offered.push_back(cpu);
  share.stated = stated;
  return share;
}

TEST(MachineReport, OneProcessOnAllItsCpusHasNothingToComplainOf) {
  const std::vector<MachineShare> ranks{rank_on("a", 0, 7, 8)};
  EXPECT_EQ(describe_machines(ranks), "a: 8 threads on CPUs 0-7, AVX2");
  EXPECT_EQ(machine_warnings(ranks), Lines{});
}

TEST(MachineReport, AProcessThatWasBoundByHandIsToldOfButNotWarned) {
  const std::vector<MachineShare> ranks{rank_on("a", 2, 2, 8)};
  EXPECT_EQ(describe_machines(ranks), "a: 1 thread on CPU 2 (bound to 1 of 8), AVX2");
  EXPECT_EQ(machine_warnings(ranks), Lines{});
}

TEST(MachineReport, AQuotaBelowTheCpusIsNamed) {
  std::vector<MachineShare> ranks{rank_on("a", 0, 7, 8)};
  ranks[0].quota = 1.5;
  EXPECT_EQ(describe_machines(ranks), "a: 2 threads on CPUs 0-7, AVX2");
  EXPECT_EQ(machine_warnings(ranks),
            (Lines{"a: the cgroup's quota is 1.5 of 8 CPUs: raise the CPU limit of the "
                   "container or job"}));
  ranks[0].quota = 8;
  EXPECT_EQ(machine_warnings(ranks), Lines{});
}

TEST(MachineReport, CpusThatOmpNumThreadsLeavesUnusedAreCounted) {
  EXPECT_EQ(machine_warnings(std::vector{rank_on("a", 0, 7, 8, 2)}),
            (Lines{"a: OMP_NUM_THREADS=2 leaves 6 of 8 CPUs unused: set it to 8"}));
  EXPECT_EQ(machine_warnings(std::vector{rank_on("a", 0, 7, 8, 16)}), Lines{});
}

TEST(MachineReport, WorkersThatShareTheMachineEvenlyAreWell) {
  const std::vector<MachineShare> ranks(3, rank_on("a", 0, 7, 8, 2));  // --workers 3: 8 / 3 each
  EXPECT_EQ(describe_machines(ranks), "a: 3 ranks of 2 threads on CPUs 0-7, shared, AVX2");
  EXPECT_EQ(machine_warnings(ranks), Lines{});
}

TEST(MachineReport, RanksWithCpusOfTheirOwnAreWell) {
  const std::vector<MachineShare> ranks{rank_on("a", 0, 3, 8), rank_on("a", 4, 7, 8)};
  EXPECT_EQ(describe_machines(ranks), "a: 2 ranks of 4 threads on CPUs 0-7, each on its own, AVX2");
  EXPECT_EQ(machine_warnings(ranks), Lines{});
}

TEST(MachineReport, UnboundRanksThatEachTakeAllThreadsAreToldHowManyToTake) {
  EXPECT_EQ(machine_warnings(std::vector(2, rank_on("a", 0, 7, 8))),
            (Lines{"a: 2 ranks of 8 threads on CPUs 0-7: set OMP_NUM_THREADS=4"}));
}

TEST(MachineReport, MoreRanksThanCpusAreNamed) {
  EXPECT_EQ(machine_warnings(std::vector(3, rank_on("a", 0, 1, 2, 1))),
            (Lines{"a: 3 ranks of 1 thread on CPUs 0-1: start at most 2 ranks"}));
}

TEST(MachineReport, RanksOnTheSameCpusWhileOthersAreUnusedBlameTheBinding) {
  const std::vector<MachineShare> ranks{rank_on("a", 0, 0, 8), rank_on("a", 1, 1, 8),
                                        rank_on("a", 0, 0, 8)};
  EXPECT_EQ(machine_warnings(ranks),
            (Lines{"a: 2 ranks of 1 thread on CPU 0, and 6 CPUs unused: let the "
                   "launcher bind ranks to CPUs of their own, or to none (mpirun --bind-to "
                   "none)"}));
}

TEST(MachineReport, OverlapsAddUpThroughRanksBetweenThem) {
  const std::vector<MachineShare> ranks{rank_on("a", 0, 3, 8), rank_on("a", 4, 7, 8),
                                        rank_on("a", 3, 4, 8)};
  EXPECT_EQ(machine_warnings(ranks),
            (Lines{"a: 3 ranks with 10 threads on CPUs 0-7: set OMP_NUM_THREADS=2",
                   "ranks have 2 to 4 threads: the slowest sets the pace of all"}));
}

TEST(MachineReport, RanksBoundToOneCpuEachOnALargeMachineCouldHaveMore) {
  const std::vector<MachineShare> ranks{rank_on("a", 0, 0, 8), rank_on("a", 1, 1, 8)};
  EXPECT_EQ(machine_warnings(ranks),
            (Lines{"a: 2 ranks bound to 2 of 8 CPUs: give each more (mpirun --map-by "
                   "slot:PE=4, srun --cpus-per-task=4)"}));
}

TEST(MachineReport, AQuotaIsSharedByTheRanksOfAHost) {
  std::vector<MachineShare> ranks(2, rank_on("a", 0, 7, 8));
  for (MachineShare& share : ranks) share.quota = 4;
  EXPECT_EQ(
      machine_warnings(ranks),
      (Lines{"a: the cgroup's quota is 4 of 8 CPUs: raise the CPU limit of the container or job",
             "a: 2 ranks of 4 threads on a quota of 4 CPUs: set OMP_NUM_THREADS=2"}));
}

TEST(MachineReport, TheSameOnSeveralHostsIsOneLine) {
  std::vector<MachineShare> ranks;
  for (const char* host : {"a", "b", "c"}) {
    ranks.push_back(rank_on(host, 0, 7, 8, 4));
    ranks.push_back(rank_on(host, 0, 7, 8, 4));
  }
  EXPECT_EQ(describe_machines(ranks),
            "3 hosts (a, ...): 6 ranks of 4 threads, 2 ranks on 8 CPUs a host, shared, AVX2");
  EXPECT_EQ(machine_warnings(ranks), Lines{});
  for (MachineShare& share : ranks) share.stated = 1;
  EXPECT_EQ(machine_warnings(ranks),
            (Lines{"a and 2 other hosts: OMP_NUM_THREADS=1 leaves 6 of 8 CPUs unused: set "
                   "it to 4"}));
}

TEST(MachineReport, UnequalHostsSlowEachOther) {
  std::vector<MachineShare> ranks{rank_on("a", 0, 7, 8), rank_on("b", 0, 1, 2)};
  ranks[1].instructions = "SSE";
  EXPECT_EQ(describe_machines(ranks),
            "2 hosts (a, ...): 2 ranks of 2 to 8 threads, 1 rank on 2 to 8 CPUs a host, each on "
            "its own, AVX2");
  EXPECT_EQ(machine_warnings(ranks),
            (Lines{"ranks have 2 to 8 threads: the slowest sets the pace of all",
                   "hosts have different instructions: AVX2 (a), SSE (b); the slowest sets "
                   "the pace of all"}));
}

}  // namespace
}  // namespace toroid
