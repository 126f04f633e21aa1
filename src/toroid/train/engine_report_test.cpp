#include "toroid/train/engine_report.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "toroid/comm/self.h"
#include "toroid/train/testing.h"

namespace toroid {
namespace {

class EngineReport : public testing::Test {
 protected:
  EngineReport() : backend_(make_backend({}, communicator_)), engine_(*backend_, options()) {
    engine_.initialize(1);
  }
  static StepOptions options() {
    StepOptions options = small_options("resnet8", 1);
    options.dtype = DType::f32;
    return options;
  }
  void run(Executable& executable) {
    const std::vector<Batch> batches{make_batch(engine_.options(), 0, 0, 12)};
    executable.run(engine_.state(), batches, {});
  }

  SelfCommunicator communicator_;
  std::unique_ptr<Backend> backend_;
  Engine engine_;
};

double seconds_of(const NamedValues& values, const std::string& name) {
  for (const NamedValue& value : values) {
    if (value.name == name) return value.value;
  }
  return 0;
}

TEST_F(EngineReport, OpsAreThoseOfTrainingBothMaskedAndNot) {
  run(engine_.evaluate());
  EXPECT_TRUE(training_seconds_by_op(engine_).empty());
  run(engine_.train(false));
  const double once = seconds_of(training_seconds_by_op(engine_), "conv2d");
  EXPECT_GT(once, 0);
  run(engine_.train(true));
  EXPECT_GT(seconds_of(training_seconds_by_op(engine_), "conv2d"), once);
}

TEST_F(EngineReport, MemoryIsAllArenasAndTheBusiestNodeAmongThem) {
  EXPECT_EQ(memory_summary(engine_).arena_mb, 0);
  EXPECT_EQ(format_memory(memory_summary(engine_)).find("memory: variables "), 0U);
  engine_.train(false);
  const MemorySummary one = memory_summary(engine_);
  EXPECT_GE(one.arena_mb, one.live_mb);
  EXPECT_FALSE(one.busiest.empty());
  engine_.evaluate();  // smaller: no gradients
  const MemorySummary both = memory_summary(engine_);
  EXPECT_GT(both.arena_mb, one.arena_mb);
  EXPECT_EQ(both.busiest, one.busiest);
  EXPECT_GT(both.rss_mb, both.state_mb);
}

TEST_F(EngineReport, VariablesHaveFourBytesAnElement) {
  double elements = 0;
  for (const Variable& variable : step_variables(options())) {
    elements += static_cast<double>(variable.type.elements());
  }
  EXPECT_DOUBLE_EQ(memory_summary(engine_).state_mb, elements * 4 / 1e6);
}

TEST(FormatMemory, NamesTheBusiestNodeAndTheLargestBufferThere) {
  EXPECT_EQ(format_memory({.arena_mb = 812.34,
                           .live_mb = 790,
                           .state_mb = 204,
                           .rss_mb = 1500,
                           .busiest = "gradient/stem/relu",
                           .at_busiest = {{"stem/conv", 98}, {"a", 1}}}),
            "memory: arenas 812.3 MB (790.0 MB in use at gradient/stem/relu, 98.0 MB of it "
            "stem/conv), variables 204.0 MB");
  EXPECT_EQ(format_memory({.state_mb = 204}), "memory: variables 204.0 MB");
}

}  // namespace
}  // namespace toroid
