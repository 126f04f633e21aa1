#include "toroid/backends/memory_plan.h"

#include <gtest/gtest.h>

#include "toroid/base/random.h"

namespace toroid {
namespace {

void expect_sound(const std::vector<BufferLifetime>& buffers, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % 64, 0U);
    EXPECT_LE(plan.offsets[i] + buffers[i].bytes, plan.bytes);
    for (std::size_t j = 0; j < i; ++j) {
      const bool together =
          buffers[i].first <= buffers[j].last && buffers[j].first <= buffers[i].last;
      const bool overlap = plan.offsets[i] < plan.offsets[j] + buffers[j].bytes &&
                           plan.offsets[j] < plan.offsets[i] + buffers[i].bytes;
      EXPECT_FALSE(together && overlap) << "buffers " << j << " and " << i;
    }
  }
}

TEST(MemoryPlan, BuffersOfDifferentTimesShareMemory) {
  const std::vector<BufferLifetime> buffers{{100, 0, 1}, {100, 2, 3}, {64, 1, 2}};
  const MemoryPlan plan = plan_memory(buffers);
  expect_sound(buffers, plan);
  EXPECT_EQ(plan.offsets[0], plan.offsets[1]);
  EXPECT_EQ(plan.bytes, 192U);  // 100 rounds up to 128
}

TEST(MemoryPlan, ABufferReadInAStepIsNotOverwrittenByThatStep) {
  const std::vector<BufferLifetime> buffers{{64, 0, 1}, {64, 1, 2}};
  EXPECT_NE(plan_memory(buffers).offsets[0], plan_memory(buffers).offsets[1]);
}

TEST(MemoryPlan, RandomLifetimesNeverOverlapAndStayNearThePeak) {
  for (std::uint32_t trial = 0; trial < 20; ++trial) {
    Random random(7, "lifetimes", trial);
    std::vector<BufferLifetime> buffers;
    for (int i = 0; i < 120; ++i) {
      const int first = static_cast<int>(random.below(100));
      const int life = static_cast<int>(random.below(random.below(4) == 0 ? 60 : 4));
      buffers.push_back({random.below(5000), first, first + life});
    }
    const MemoryPlan plan = plan_memory(buffers);
    expect_sound(buffers, plan);
    EXPECT_GE(plan.bytes, peak_live_bytes(buffers));
    EXPECT_LE(plan.bytes, peak_live_bytes(buffers) * 5 / 4);
  }
}

TEST(MemoryPlan, NothingNeedsNothing) {
  EXPECT_EQ(plan_memory({}).bytes, 0U);
  EXPECT_EQ(peak_live_bytes({}), 0U);
}

}  // namespace
}  // namespace toroid
