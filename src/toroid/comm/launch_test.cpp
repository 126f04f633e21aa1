#include "toroid/comm/launch.h"

#include <map>

#include "toroid/base/testing.h"

namespace toroid {
namespace {

using Words = std::vector<std::string>;

std::optional<Launcher> find_in(const std::map<std::string, std::string>& variables) {
  return find_launcher([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(FindLauncher, KnowsMpirunAndSrun) {
  const auto open_mpi = find_in({{"OMPI_COMM_WORLD_SIZE", "4"}, {"PMIX_RANK", "0"}});
  ASSERT_TRUE(open_mpi);
  EXPECT_EQ(open_mpi->variable, "OMPI_COMM_WORLD_SIZE");
  EXPECT_EQ(open_mpi->ranks, 4);
  const auto mpich = find_in({{"PMI_RANK", "1"}, {"PMI_SIZE", "3"}});
  ASSERT_TRUE(mpich);
  EXPECT_EQ(mpich->ranks, 3);
  const auto srun =
      find_in({{"SLURM_PROCID", "1"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}});
  ASSERT_TRUE(srun);
  EXPECT_EQ(srun->ranks, 8);
  const auto pmix = find_in({{"PMIX_RANK", "0"}});
  ASSERT_TRUE(pmix);
  EXPECT_EQ(pmix->ranks, 0);
}

TEST(FindLauncher, AShellOfASlurmJobIsNotARank) {
  EXPECT_FALSE(find_in({}));
  EXPECT_FALSE(find_in({{"SLURM_JOB_ID", "77"}, {"SLURM_PROCID", "0"}}));
  EXPECT_FALSE(find_in({{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "4294967291"}}));
}

TEST(MpirunCommand, OpenMpiNeedsLeaveForRootAndForMoreRanksThanCores) {
  const std::string version = "mpirun (Open MPI) 4.1.4\n";
  EXPECT_EQ(mpirun_command(version, {.workers = 2, .command = {"toroid", "train"}}, 2, false),
            (Words{"mpirun", "-n", "2", "--quiet", "--bind-to", "none", "toroid", "train"}));
  EXPECT_EQ(mpirun_command(version, {.workers = 4, .command = {"toroid"}}, 2, true),
            (Words{"mpirun", "-n", "4", "--quiet", "--bind-to", "none", "--allow-run-as-root",
                   "--oversubscribe", "toroid"}));
}

TEST(MpirunCommand, MpichTakesItsOwnFlags) {
  EXPECT_EQ(mpirun_command("HYDRA build details:\n    Version: 4.0.2\n",
                           {.workers = 4, .command = {"toroid"}}, 2, true),
            (Words{"mpirun", "-n", "4", "-bind-to", "none", "toroid"}));
  EXPECT_ERROR(mpirun_command("something else", {.workers = 2, .command = {"toroid"}}, 2, true),
               "neither Open MPI's nor MPICH's");
}

TEST(LaunchWorkers, NeedsAWorkerAndAProgram) {
  EXPECT_ERROR(launch_workers({.workers = 0, .command = {"true"}}), "--workers must be at least 1");
  EXPECT_ERROR(launch_workers({.workers = 2, .command = {"/nowhere/toroid"}}),
               "cannot run /nowhere/toroid: No such file or directory");
}

}  // namespace
}  // namespace toroid
