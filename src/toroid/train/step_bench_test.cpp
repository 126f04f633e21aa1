#include "toroid/train/step_bench.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "toroid/base/testing.h"
#include "toroid/train/step_bench_report.h"
#include "toroid/train/testing.h"

namespace toroid {
namespace {

StepBenchOptions options_of(const std::string& model, const std::string& backend) {
  StepBenchOptions options{.step = small_options(model, 1), .backend = {.name = backend}};
  options.step.dtype = DType::f32;
  options.steps = 3;
  options.warm_up = 1;
  return options;
}

StepBenchResult made_result() {
  StepBenchResult result;
  result.step_ms = {20, 40};
  result.median_ms = 30;
  result.images_per_s = 400;
  result.parameters = 42;
  result.state_mb = 2;
  result.rss_mb = 99;
  return result;
}

TEST(StepBench, EachTimedStepIsMeasuredAndItsOpsFitIntoIt) {
  StepBenchOptions options = options_of("resnet8", "cpu");
  options.trace = true;
  const StepBenchResult result = bench_step(options);
  ASSERT_EQ(result.step_ms.size(), 3U);
  EXPECT_DOUBLE_EQ(result.images_per_s, 12 / result.median_ms * 1e3);
  const double of_ops = std::accumulate(result.ops.begin(), result.ops.end(), 0.0,
                                        [](double sum, const OpTime& op) { return sum + op.ms; });
  const double of_steps =
      std::accumulate(result.step_ms.begin(), result.step_ms.end(), 0.0) / 3;  // a mean too
  EXPECT_GT(of_ops, 0);
  EXPECT_LE(of_ops, of_steps);
  double of_trace = 0;
  for (const TraceEvent& event : result.trace) of_trace += event.duration_us / 1e3;
  EXPECT_GT(of_trace, 0);
  EXPECT_LE(of_trace, result.step_ms.back());
  EXPECT_GE(result.memory.arena, result.memory.live);
  EXPECT_GT(result.rss_mb, result.state_mb);
}

TEST(StepBench, WithoutTraceNothingIsRecorded) {
  EXPECT_TRUE(bench_step(options_of("mlp", "cpu")).trace.empty());
}

TEST(StepBench, ABackendThatDoesNotTimeItsOpsStillTellsTheStep) {
  StepBenchOptions options = options_of("mlp", "reference");
  const StepBenchResult result = bench_step(options);
  EXPECT_GT(result.images_per_s, 0);
  EXPECT_TRUE(result.ops.empty());
  options.trace = true;
  EXPECT_ERROR(bench_step(options),
               "the reference backend does not time its ops, so there is no trace to write");
}

TEST(StepBench, TheTableGivesSharesOfTheStepAndRates) {
  StepBenchResult result = made_result();
  result.memory = {.arena = 8'000'000,
                   .live = 7'000'000,
                   .busiest = "stage1/conv",
                   .at_busiest = {{"stem/relu", 3'500'000}}};
  result.ops = {{"conv2d", 3, 15, 1.5, 0.3}};
  EXPECT_EQ(step_bench_table(options_of("resnet8", "cpu"), result),
            "resnet8 8x8 batch 12 f32: 400.00 images/s, 30.0 ms a step (median of 2)\n"
            "first step begun after 0.00 s, took 0.00 s; 42 parameters\n"
            "memory: 99 MB resident at most; arena 8 MB (7 in use at stage1/conv), "
            "variables 2 MB\n"
            "       3.5 MB  stem/relu\n"
            "op                                nodes         ms   share   GFLOP/s    GB/s\n"
            "conv2d                                3      15.00   50.0%     100.0    20.0\n"
            "(inputs, outputs, updates)                   15.00   50.0%\n");
}

TEST(StepBench, TheTableSaysWhenTheBackendKnowsNoOps) {
  EXPECT_EQ(step_bench_table(options_of("mlp", "xla"), made_result()),
            "mlp 8x8 batch 12 f32: 400.00 images/s, 30.0 ms a step (median of 2)\n"
            "first step begun after 0.00 s, took 0.00 s; 42 parameters\n"
            "memory: 99 MB resident at most; variables 2 MB\n"
            "ops: the xla backend does not tell what each of them takes\n");
}

TEST(StepBench, JsonHasWhatTheTableHas) {
  StepBenchResult result = made_result();
  result.ops = {{"conv2d", 3, 15, 1.5, 0.3}};
  result.memory.at_busiest = {{"stem/relu", 3'500'000}};
  const auto json = nlohmann::json::parse(step_bench_json(options_of("resnet8", "cpu"), result));
  EXPECT_EQ(json.at("step_ms"), 30.0);
  EXPECT_EQ(json.at("steps_ms"), (std::vector<double>{20, 40}));
  EXPECT_EQ(json.at("rss_mb"), 99.0);
  EXPECT_EQ(
      json.at("ops"),
      nlohmann::json::parse(R"([{"op":"conv2d","nodes":3,"ms":15.0,"gflop":1.5,"gbytes":0.3}])"));
  EXPECT_EQ(json.at("at_busiest"), nlohmann::json::parse(R"([{"path":"stem/relu","mb":3.5}])"));
}

}  // namespace
}  // namespace toroid
