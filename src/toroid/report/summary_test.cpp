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
