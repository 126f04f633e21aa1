#include "toroid/train/precision.h"

#include <gtest/gtest.h>

#include "toroid/backends/cpu/cpu.h"
#include "toroid/base/file.h"
#include "toroid/base/testing.h"
#include "toroid/comm/self.h"
#include "toroid/comm/threads.h"
#include "toroid/train/checkpoint.h"
#include "toroid/train/testing.h"

namespace toroid {
namespace {

void save_checkpoint_of(const std::filesystem::path& run, std::int64_t step,
                        const std::string& precision) {
  const std::string recipe = "[model]\nname = \"mlp\"\nprecision = \"" + precision +
                             "\"\n[data]\ntrain = \"x\"\n[train]\nsteps = 9\nglobal_batch = 8\n";
  std::filesystem::create_directories(run);
  save_checkpoint(run, {.step = step, .recipe = recipe}, {}, 5);
}

TEST(Precision, DecidesTypeOfVariablesAndOfActivations) {
  StepOptions options;
  set_precision(options, "bf16");
  EXPECT_TRUE(options.dtype == DType::f32 && options.bf16);
  set_precision(options, "f64");
  EXPECT_TRUE(options.dtype == DType::f64 && !options.bf16);
  set_precision(options, "auto");
  EXPECT_TRUE(options.dtype == DType::f32 && !options.bf16);
}

TEST(Precision, IsThatOfTheNewestReadableCheckpoint) {
  const TemporaryFolder folder;
  EXPECT_EQ(recorded_precision(folder / "none"), std::nullopt);
  const auto run = folder / "run";
  save_checkpoint_of(run, 1, "f32");
  save_checkpoint_of(run, 2, "bf16");
  EXPECT_EQ(recorded_precision(run), "bf16");
  write_file(list_checkpoints(run).back() / "checkpoint.json", "{");
  EXPECT_EQ(recorded_precision(run), "f32");
}

TEST(AutoPrecision, EveryRankTakesWhatRankZeroFoundAndElseTheSameMeasurement) {
  for (const bool begun : {true, false}) {
    const auto recorded = begun ? std::optional<std::string>("bf16") : std::nullopt;
    std::vector<std::string> decided(2);
    run_ranks(2, [&](Communicator& communicator) {
      const auto backend = make_cpu_backend(communicator, {.threads = 1});
      StepOptions step = small_options("resnet8", 2);
      step.accumulate = recorded ? 1 : 2;
      step.batch_norm_batch = step.micro_batch();
      const int rank = communicator.rank();
      // Rank 1 looks when rank 0 has found something.
      decided[static_cast<std::size_t>(rank)] = decide_precision(
          step, rank == 0 ? recorded : std::optional<std::string>("f32"), *backend, communicator);
    });
    EXPECT_EQ(decided[0], decided[1]);
    if (recorded) {
      EXPECT_EQ(decided[0], *recorded);
    } else {
      EXPECT_TRUE(decided[0] == "f32" || decided[0] == "bf16");
    }
  }
}

}  // namespace
}  // namespace toroid
