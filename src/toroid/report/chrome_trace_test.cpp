#include "toroid/report/chrome_trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "toroid/base/file.h"
#include "toroid/base/testing.h"

namespace toroid {
namespace {

TEST(ChromeTrace, EventsAreCompleteEventsWithTimesInMicroseconds) {
  const TemporaryFolder folder;
  write_chrome_trace(folder / "trace.json", {{.name = "stem/\"conv\"",
                                              .category = "conv2d",
                                              .start_us = 0,
                                              .duration_us = 12.5,
                                              .lane = 0,
                                              .detail = "1 GFLOP"},
                                             {.name = "stem/relu",
                                              .category = "relu",
                                              .start_us = 12.5,
                                              .duration_us = 1,
                                              .lane = 3,
                                              .detail = ""}});
  const auto trace = nlohmann::json::parse(read_file(folder / "trace.json"));
  EXPECT_EQ(trace, nlohmann::json::parse(R"({
    "traceEvents": [
      {"name": "stem/\"conv\"", "cat": "conv2d", "ph": "X", "ts": 0.0, "dur": 12.5, "pid": 0,
       "tid": 0, "args": {"detail": "1 GFLOP"}},
      {"name": "stem/relu", "cat": "relu", "ph": "X", "ts": 12.5, "dur": 1.0, "pid": 0,
       "tid": 3, "args": {"detail": ""}}],
    "displayTimeUnit": "ms"})"));
}

TEST(ChromeTrace, WithoutEventsItIsAnEmptyList) {
  const TemporaryFolder folder;
  write_chrome_trace(folder / "trace.json", {});
  const auto trace = nlohmann::json::parse(read_file(folder / "trace.json"));
  EXPECT_TRUE(trace.at("traceEvents").is_array());
  EXPECT_TRUE(trace.at("traceEvents").empty());
}

TEST(ChromeTrace, AFileThatCannotBeWrittenIsAnErrorThatNamesIt) {
  const TemporaryFolder folder;
  EXPECT_ERROR(write_chrome_trace(folder / "none/trace.json", {}), "none/trace.json");
}

}  // namespace
}  // namespace toroid
