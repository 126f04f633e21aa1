#include "toroid/report/progress.h"

#include <gtest/gtest.h>

#include <cmath>

namespace toroid {
namespace {

const ProgressState kState{3, 25, 412, 824, 0.34126, 0.8812, 1234.4};

TEST(Progress, ADurationHasHoursOnlyWhenItNeedsThem) {
  EXPECT_EQ(format_duration(0), "00:00");
  EXPECT_EQ(format_duration(59.6), "01:00");
  EXPECT_EQ(format_duration(3909), "1:05:09");
  EXPECT_EQ(format_duration(-1), "--:--");
  EXPECT_EQ(format_duration(std::nan("")), "--:--");
  EXPECT_EQ(format_duration(1e300), "--:--");
}

TEST(Progress, AWideTerminalGetsTheWholeLine) {
  EXPECT_EQ(format_progress_bar(kState, 83, 200),
            "epoch 3/25  [===============               ]  412/824  loss 0.3413  top1 0.881  "
            "1234 images/s  ETA 01:23");
}

TEST(Progress, TheBarTakesTheRoomThatIsLeft) {
  EXPECT_EQ(format_progress_bar(kState, 83, 83),
            "epoch 3/25  [====    ]  412/824  loss 0.3413  top1 0.881  1234 images/s  ETA 01:23");
}

TEST(Progress, ANarrowTerminalLosesTheBarThenTheLessImportantFigures) {
  EXPECT_EQ(format_progress_bar(kState, 83, 80),
            "epoch 3/25  412/824  loss 0.3413  top1 0.881  1234 images/s  ETA 01:23");
  EXPECT_EQ(format_progress_bar(kState, 83, 60),
            "epoch 3/25  412/824  loss 0.3413  top1 0.881  ETA 01:23");
  EXPECT_EQ(format_progress_bar(kState, 83, 46), "epoch 3/25  412/824  loss 0.3413  ETA 01:23");
  EXPECT_EQ(format_progress_bar(kState, 83, 40), "epoch 3/25  412/824  loss 0.3413");
  EXPECT_EQ(format_progress_bar(kState, 83, 25), "epoch 3/25  412/824");
  EXPECT_EQ(format_progress_bar(kState, 83, 8), "epoch 3");
  for (int width = 0; width < 150; ++width) {
    EXPECT_LE(format_progress_bar(kState, 83, width).size(), std::size_t(std::max(width - 1, 0)));
  }
}

TEST(Progress, WithoutEpochsAndWithANaNLossTheLineStillReads) {
  const ProgressState state{0, 0, 0, 10, std::nan(""), 0, 0};
  EXPECT_EQ(format_progress_line(state, -1),
            "step 0/10  loss nan  top1 0.000  0 images/s  ETA --:--");
}

TEST(Progress, ElsewhereTheFirstAndTheLastStepGetALine) {
  testing::internal::CaptureStderr();
  {
    Progress progress(false);
    for (std::int64_t step = 1; step <= 50; ++step) {
      progress.update({1, 1, step, 50, 0.5, 0.5, 100});
    }
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_NE(text.find("step 1/50"), std::string::npos);
  EXPECT_NE(text.find("step 50/50  loss 0.5000  top1 0.500  100 images/s  ETA 00:00\n"),
            std::string::npos);
}

TEST(Progress, OnATerminalALineIsRewrittenAndEndsWithOneNewline) {
  testing::internal::CaptureStderr();
  {
    Progress progress(true);
    progress.update({1, 1, 1, 50, 0.5, 0.5, 100});
    progress.clear();
    progress.update({1, 1, 50, 50, 0.5, 0.5, 100});
  }
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\r'), 3);
  EXPECT_NE(text.find("\r\x1b[K\repoch 1/1"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\x1b[K\n"));
}

}  // namespace
}  // namespace toroid
