#include "toroid/report/summary.h"

#include <gtest/gtest.h>

#include <cmath>

#include "toroid/base/file.h"
#include "toroid/base/testing.h"

namespace toroid {
namespace {

RunSummary sample() {
  RunSummary summary{.splits = {},
                     .seconds = 12.5,
                     .images_per_s = 900,
                     .parameters = 42,
                     .seed = 18446744073709551615U,
                     .world_size = 2,
                     .time = {.starting = 0.5,
                              .data_wait = 1,
                              .steps = 9,
                              .evaluation = 1.5,
                              .saving = 0.25,
                              .other = 0.25},
                     .ops = {{"conv2d", 6.5}, {"relu", 1.5}},
                     .memory = {.arena_mb = 8,
                                .live_mb = 7.5,
                                .state_mb = 2,
                                .rss_mb = 64,
                                .busiest = "stem/relu",
                                .at_busiest = {{"stem/conv", 4.5}}},
                     .versions = {{"toroid", "0.1.0"}},
                     .attempts = {{"2026-03-01T09:30:00Z", 0, 7, 12.5, 2, "done"}}};
  summary.splits["validation"] = {{{"top1", 0.5}, {"loss", std::nan("")}}, {{"top1", 0.75}}, 3};
  return summary;
}

TEST(Summary, IsWrittenAsDocumented) {
  const TemporaryFolder folder;
  write_summary(folder / "summary.json", sample());
  EXPECT_EQ(read_file(folder / "summary.json"), R"({
  "validation": {
    "final": {
      "top1": 0.5,
      "loss": "NaN"
    },
    "best": {
      "top1": 0.75
    },
    "best_step": 3
  },
  "seconds": 12.5,
  "images_per_s": 900.0,
  "parameters": 42,
  "seed": 18446744073709551615,
  "world_size": 2,
  "time": {
    "steps": 9.0,
    "data_wait": 1.0,
    "evaluation": 1.5,
    "saving": 0.25,
    "starting": 0.5,
    "other": 0.25
  },
  "ops": {
    "conv2d": 6.5,
    "relu": 1.5
  },
  "memory": {
    "arena_mb": 8.0,
    "live_mb": 7.5,
    "state_mb": 2.0,
    "rss_mb": 64.0,
    "busiest": "stem/relu",
    "at_busiest": [
      {
        "path": "stem/conv",
        "mb": 4.5
      }
    ]
  },
  "versions": {
    "toroid": "0.1.0"
  },
  "attempts": [
    {
      "started": "2026-03-01T09:30:00Z",
      "first_step": 0,
      "last_step": 7,
      "seconds": 12.5,
      "world_size": 2,
      "outcome": "done"
    }
  ]
}
)");
}

TEST(Summary, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  write_summary(folder / "a.json", sample());
  const RunSummary again = read_summary(folder / "a.json").value();
  write_summary(folder / "b.json", again);
  EXPECT_EQ(read_file(folder / "a.json"), read_file(folder / "b.json"));
  EXPECT_TRUE(std::isnan(again.splits.at("validation").final_values.at(1).value));
  EXPECT_EQ(again.attempts.at(0).outcome, "done");
}

TEST(Summary, FilesFromBeforeTimesWereKeptAreRead) {
  const TemporaryFolder folder;
  write_file(folder / "old.json", R"({"seconds": 1, "images_per_s": 2, "parameters": 3, "seed": 4,
                                      "world_size": 1, "versions": {}, "attempts": []})");
  const RunSummary old = read_summary(folder / "old.json").value();
  EXPECT_EQ(old.images_per_s, 2);
  EXPECT_EQ(old.time.sum(), 0);
  EXPECT_TRUE(old.ops.empty());
}

TEST(Summary, TheLineOnTimeGivesSharesOfAllAndLeavesOutWhatIsNothing) {
  const TimeUse time{.starting = 0.04, .data_wait = 3, .steps = 6.96};
  EXPECT_EQ(format_time(time, {{"conv2d", 4}, {"relu", 2}}),
            "time: steps 70% (conv2d 40%, relu 20%), data wait 30%");
  EXPECT_EQ(format_time(time, {{"a", 2}, {"b", 1}, {"c", 1}, {"d", 1}, {"e", 1}}),
            "time: steps 70% (a 20%, b 10%, c 10%, d 10%), data wait 30%");
  EXPECT_EQ(format_time(time, {}), "time: steps 70%, data wait 30%");
  EXPECT_EQ(format_time({}, {}), "");
}

TEST(Summary, AMissingFileIsNothingAndAMalformedOneIsAnErrorThatNamesIt) {
  const TemporaryFolder folder;
  EXPECT_FALSE(read_summary(folder / "none.json").has_value());
  write_file(folder / "bad.json", "{\"seconds\": 1}");
  EXPECT_ERROR(read_summary(folder / "bad.json"), "/bad.json: not a run's summary: ");
  EXPECT_ERROR(read_summary(folder / "bad.json"), "images_per_s");
  write_file(folder / "cut.json", "{\"seconds\":\n");
  EXPECT_ERROR(read_summary(folder / "cut.json"), "/cut.json: not a run's summary: ");
}

}  // namespace
}  // namespace toroid
