#include "toroid/comm/threads.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "toroid/base/testing.h"
#include "toroid/comm/contract.h"
#include "toroid/comm/self.h"

namespace toroid {
namespace {

void all_reduce(Communicator& communicator, std::vector<float>& values, int group_size) {
  const auto n = static_cast<std::int64_t>(values.size());
  const ConstBuffer input{values.data(), DType::f32, n};
  const Buffer output{values.data(), DType::f32, n};
  communicator.all_reduce_start({&input, 1}, {&output, 1}, group_size)->wait();
}

class Worlds : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(OneToSixRanks, Worlds, testing::Range(1, 7));

TEST_P(Worlds, KeepTheContract) {
  run_ranks(GetParam(), check_collectives);
}

TEST(SelfCommunicator, KeepsTheContract) {
  SelfCommunicator self;
  check_collectives(self);
}

TEST(Threads, SumInRankOrder) {
  // 1e8 + 1 - 1e8 is 0 in f32 from left to right; in another order it may be 1.
  run_ranks(3, [](Communicator& communicator) {
    std::vector<float> values = {std::vector{1e8F, 1.0F, -1e8F}[communicator.rank()]};
    all_reduce(communicator, values, 3);
    EXPECT_EQ(values[0], 0.0F);
  });
}

TEST(Threads, GroupsAreConsecutiveRanks) {
  run_ranks(6, [](Communicator& communicator) {
    std::vector<float> values = {static_cast<float>(communicator.rank())};
    all_reduce(communicator, values, 2);
    EXPECT_EQ(values[0], std::vector({1.0F, 1.0F, 5.0F, 5.0F, 9.0F, 9.0F})[communicator.rank()]);
  });
}

TEST(Threads, OneRanksExceptionEndsAllAndIsTheOneThrown) {
  std::atomic<int> ended = 0;
  const auto body = [&](Communicator& communicator) {
    if (communicator.rank() == 2) fail("cannot read shard 7");
    std::vector<float> values(5);
    try {
      all_reduce(communicator, values, 4);
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), "all_reduce on rank " + std::to_string(communicator.rank()) +
                                  " ended because rank 2 failed: cannot read shard 7");
      ++ended;
      throw;
    }
  };
  EXPECT_ERROR(run_ranks(4, body), "cannot read shard 7");
  EXPECT_EQ(ended, 3);
}

// Rank 0's request has gone away, unwaited, before rank 1 joins.
void leave_a_request(bool by_exception) {
  std::atomic<bool> gone = false;
  run_ranks(2, [&](Communicator& communicator) {
    const auto set = [&](void*) { gone = true; };
    while (communicator.rank() == 1 && !gone) std::this_thread::yield();
    const std::unique_ptr<void, decltype(set)> signal(&gone, set);  // set after the request's end
    std::vector<float> values(100);
    const ConstBuffer input{values.data(), DType::f32, 100};
    const Buffer output{values.data(), DType::f32, 100};
    const auto request = communicator.all_reduce_start({&input, 1}, {&output, 1}, 2);
    if (communicator.rank() == 1) request->wait();
    if (by_exception) fail("lost");
  });
}

TEST(Threads, AnExceptionWithARequestInFlightIsTheOneThrown) {
  EXPECT_ERROR(leave_a_request(true), "lost");
}

TEST(Threads, ADroppedRequestIsNamed) {
  EXPECT_ERROR(leave_a_request(false), "rank 0 dropped its all_reduce without waiting for it");
}

TEST(Threads, ARankThatReturnsEarlyIsNamed) {
  EXPECT_ERROR(run_ranks(3,
                         [](Communicator& communicator) {
                           if (communicator.rank() != 1) communicator.barrier();
                         }),
               "cannot finish: rank 1 has returned");
}

TEST(Threads, DifferentCallsAreNamedWithTheirTypes) {
  const std::string message = error_of([] {
    run_ranks(2, [](Communicator& communicator) {
      std::vector<float> values(static_cast<std::size_t>(3 + communicator.rank()));
      all_reduce(communicator, values, 2);
    });
  });
  EXPECT_NE(message.find("all_reduce in groups of 2 f32[3]"), std::string::npos) << message;
  EXPECT_NE(message.find("all_reduce in groups of 2 f32[4]"), std::string::npos) << message;
}

TEST(Communicator, ChecksGroupsTypesAndSizes) {
  run_ranks(4, [](Communicator& communicator) {
    std::vector<float> values(8);
    const ConstBuffer f32{values.data(), DType::f32, 8};
    const Buffer output{values.data(), DType::f32, 8}, shorter{values.data(), DType::f32, 3};
    const Buffer f64{values.data(), DType::f64, 4};
    EXPECT_ERROR(communicator.all_reduce_start({&f32, 1}, {&output, 1}, 3),
                 "groups of 3 ranks do not tile a world of 4; possible: 1, 2, 4");
    EXPECT_ERROR(communicator.all_reduce_start({&f32, 1}, {&output, 1}, 0), "groups of 0 ranks");
    EXPECT_ERROR(communicator.all_reduce_start({&f32, 1}, {&f64, 1}, 2),
                 "an input of f32 cannot give an output of f64");
    EXPECT_ERROR(communicator.reduce_scatter_start({&f32, 1}, {&shorter, 1}, 2),
                 "an input of 8 elements does not fit an output of 3 in groups of 2");
    EXPECT_ERROR(communicator.all_gather_start({&f32, 1}, {&output, 1}, 2),
                 "an input of 8 elements does not fit an output of 8 in groups of 2");
    EXPECT_ERROR(communicator.all_reduce_start({&f32, 1}, {}, 2), "1 inputs but 0 outputs");
    const Buffer bytes{values.data(), DType::u8, 8};
    const ConstBuffer same = bytes;
    EXPECT_ERROR(communicator.all_reduce_start({&same, 1}, {&bytes, 1}, 2), "cannot sum u8");
  });
}

TEST(Agreement, NamesWhatAndTheRanksThatDiffer) {
  run_ranks(4, [](Communicator& communicator) {
    const std::uint64_t hash = communicator.rank() % 2 == 0 ? 1 : std::uint64_t{1} << 40;
    EXPECT_ERROR(check_agreement(communicator, "the recipe", hash),
                 "the ranks do not agree on the recipe: ranks 1, 3 differ from rank 0");
  });
}

}  // namespace
}  // namespace toroid
