#include "toroid/report/metrics_log.h"

#include <gtest/gtest.h>

#include <limits>

#include "toroid/base/file.h"
#include "toroid/base/testing.h"

namespace toroid {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(MetricsLog, LinesHaveTheDocumentedKeysInOrderAndFullPrecision) {
  const TemporaryFolder folder;
  MetricsLog log(folder / "m.jsonl");
  log.write(TrainRecord{10, 0.25, 0.1 + 0.2, 0.5, 1e-5, 1234.5});
  log.write(EvalRecord{"validation", 10, 0.25, 1000, {{"loss", 2.0}, {"top1", 1.0 / 3}}});
  EXPECT_EQ(read_file(folder / "m.jsonl"),
            R"({"kind":"train","step":10,"epoch":0.25,"loss":0.30000000000000004,"top1":0.5,)"
            R"("learning_rate":1e-05,"images_per_s":1234.5})"
            "\n"
            R"({"kind":"eval","split":"validation","step":10,"epoch":0.25,"examples":1000,)"
            R"("loss":2.0,"top1":0.3333333333333333})"
            "\n");
}

TEST(MetricsLog, NonFiniteNumbersAreStringsSoThatTheLineStaysJson) {
  const TemporaryFolder folder;
  MetricsLog log(folder / "m.jsonl");
  log.write(TrainRecord{.step = 1, .loss = kNaN, .top1 = -1 / 0.0, .images_per_s = 1 / 0.0});
  EXPECT_NE(read_file(folder / "m.jsonl").find(R"("loss":"NaN","top1":"-Infinity",)"),
            std::string::npos);
}

TEST(MetricsLog, AFreshRunStartsEmpty) {
  const TemporaryFolder folder;
  write_file(folder / "m.jsonl", "{\"step\":1}\n");
  const MetricsLog log(folder / "m.jsonl");
  EXPECT_EQ(read_file(folder / "m.jsonl"), "");
}

TEST(MetricsLog, ResumeDropsLaterStepsAndKeepsTheOthersByteForByte) {
  const TemporaryFolder folder;
  const std::string kept =
      "{\"step\": 1, \"loss\":0.50}\n{\"kind\":\"note\"}\n{\"kind\":\"eval\",\"step\":100}\n";
  write_file(folder / "m.jsonl", kept + "{\"step\":101}\n{\"step\":150}\n{\"kind\":\"tra");
  MetricsLog log(folder / "m.jsonl", 100);
  EXPECT_EQ(read_file(folder / "m.jsonl"), kept);
  log.write(TrainRecord{.step = 101});
  EXPECT_TRUE(read_file(folder / "m.jsonl").starts_with(kept + "{\"kind\":\"train\",\"step\":101"));
}

TEST(MetricsLog, AWholeLastLineWithoutItsNewlineIsKept) {
  const TemporaryFolder folder;
  write_file(folder / "m.jsonl", "{\"step\":1}");
  keep_metrics_up_to(folder / "m.jsonl", 5);
  EXPECT_EQ(read_file(folder / "m.jsonl"), "{\"step\":1}\n");
}

TEST(MetricsLog, ABrokenLineInTheMiddleIsDroppedWithAWarningThatNamesIt) {
  const TemporaryFolder folder;
  write_file(folder / "m.jsonl", "{\"step\":1}\n" + std::string(5, '\0') + "\n{\"step\":2}\n");
  testing::internal::CaptureStderr();
  keep_metrics_up_to(folder / "m.jsonl", 5);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("m.jsonl:2: not a JSON object"),
            std::string::npos);
  EXPECT_EQ(read_file(folder / "m.jsonl"), "{\"step\":1}\n{\"step\":2}\n");
}

TEST(MetricsLog, AMissingFileStaysMissing) {
  const TemporaryFolder folder;
  keep_metrics_up_to(folder / "m.jsonl", 5);
  EXPECT_FALSE(std::filesystem::exists(folder / "m.jsonl"));
}

TEST(MetricsLog, AFullDiskIsNamedAndLeavesNoTornLine) {
  AppendFile file("/dev/full");
  EXPECT_ERROR(file.append("x\n"), "/dev/full: cannot append: No space left on device");
}

}  // namespace
}  // namespace toroid
