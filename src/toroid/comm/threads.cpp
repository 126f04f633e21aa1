#include "toroid/comm/threads.h"

#include <fmt/format.h>

#include <condition_variable>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "toroid/base/error.h"

namespace toroid {
namespace {

using Bytes = std::vector<std::byte>;

// One group's collective: each member posts its buffers, the last one to post does all the work.
struct Operation {
  struct Member {
    std::vector<ConstBuffer> inputs;
    std::vector<Buffer> outputs;
    bool posted = false;
  };
  Operation(Collective what, int first, int group_size)
      : collective(what), first_rank(first), members(static_cast<std::size_t>(group_size)) {}

  Collective collective;
  int first_rank;
  std::vector<Member> members;
  int posted = 0;
  bool done = false;
  bool dropped = false;  // a member's buffers may be gone: never touch them again
};

template <class T, class Sum = T>
void sum_as(const Operation& operation, std::size_t index, Bytes& result) {
  const auto n = static_cast<std::size_t>(operation.members[0].inputs[index].elements);
  result.resize(n * sizeof(T));
  auto* out = reinterpret_cast<T*>(result.data());
  for (std::size_t i = 0; i < n; ++i) {
    Sum sum{};
    for (std::size_t r = 0; r < operation.members.size(); ++r) {
      const auto value =
          static_cast<Sum>(static_cast<const T*>(operation.members[r].inputs[index].data)[i]);
      sum = r == 0 ? value : static_cast<Sum>(sum + value);
    }
    out[i] = static_cast<T>(sum);
  }
}

// The sum of the members' index-th inputs, in rank order.
void sum_inputs(const Operation& operation, std::size_t index, Bytes& result) {
  switch (operation.members[0].inputs[index].dtype) {
    case DType::f64:
      return sum_as<double>(operation, index, result);
    case DType::f32:
      return sum_as<float>(operation, index, result);
    case DType::bf16:
      return sum_as<BFloat16, float>(operation, index, result);
    case DType::i32:  // as unsigned: overflow wraps
    case DType::u32:
      return sum_as<std::uint32_t>(operation, index, result);
    case DType::u8:
    case DType::boolean:
      break;
  }
  fail("internal: a sum of a dtype that cannot be summed");
}

void copy_out(const Bytes& from, std::size_t offset, const Buffer& to) {
  if (to.elements == 0) return;
  std::memcpy(to.data, from.data() + offset, static_cast<std::size_t>(to.bytes()));
}

void concatenate_inputs(const Operation& operation, std::size_t index, Bytes& result) {
  result.clear();
  for (const auto& member : operation.members) {
    const ConstBuffer& input = member.inputs[index];
    const auto* data = static_cast<const std::byte*>(input.data);
    result.insert(result.end(), data, data + input.bytes());
  }
}

void complete(Operation& operation) {
  Bytes result;
  for (std::size_t i = 0; i < operation.members[0].inputs.size(); ++i) {
    const bool scatter = operation.collective == Collective::kReduceScatter;
    if (operation.collective == Collective::kAllReduce || scatter) {
      sum_inputs(operation, i, result);
    } else {
      concatenate_inputs(operation, i, result);  // a broadcast takes the first part
    }
    for (std::size_t r = 0; r < operation.members.size(); ++r) {
      const Buffer& output = operation.members[r].outputs[i];
      copy_out(result, scatter ? r * static_cast<std::size_t>(output.bytes()) : 0, output);
    }
  }
  operation.done = true;
}

std::string describe(Collective collective, std::span<const ConstBuffer> inputs, int group_size) {
  std::string text = fmt::format("{} in groups of {}", name_of(collective), group_size);
  for (const ConstBuffer& input : inputs) {
    text += fmt::format(" {}[{}]", name_of(input.dtype), input.elements);
  }
  return text;
}

// What the threads share. Everything is done under one mutex: this is for tests, and simple.
class World {
 public:
  explicit World(int size) : size_(size), returned_(static_cast<std::size_t>(size)) {}

  int size() const { return size_; }

  std::shared_ptr<Operation> post(int rank, std::int64_t number, Collective collective,
                                  std::span<const ConstBuffer> inputs,
                                  std::span<const Buffer> outputs, int group_size) {
    const std::scoped_lock lock(mutex_);
    check_order(rank, number, describe(collective, inputs, group_size));
    const int first = rank / group_size * group_size;
    auto& slot = operations_[{number, first}];
    if (!slot) slot = std::make_shared<Operation>(collective, first, group_size);
    const std::shared_ptr<Operation> operation = slot;
    auto& member = operation->members[static_cast<std::size_t>(rank - first)];
    member.inputs.assign(inputs.begin(), inputs.end());
    member.outputs.assign(outputs.begin(), outputs.end());
    member.posted = true;
    if (++operation->posted == group_size) {
      operations_.erase({number, first});
      if (!operation->dropped) complete(*operation);
      changed_.notify_all();
    }
    return operation;
  }

  void wait(int rank, const Operation& operation) {
    std::unique_lock lock(mutex_);
    std::optional<int> missing;
    changed_.wait(
        lock, [&] { return operation.done || failure_ || (missing = returned_member(operation)); });
    if (operation.done) return;
    if (failure_) {
      fail("{} on rank {} ended because {}", name_of(operation.collective), rank, *failure_);
    }
    fail("{} on rank {} cannot finish: rank {} has returned", name_of(operation.collective), rank,
         *missing);
  }

  // A request went away unwaited: its buffers must not be touched any more.
  void drop(int rank, Operation& operation) {
    const std::scoped_lock lock(mutex_);
    if (operation.done) return;
    operation.dropped = true;
    // While an exception passes through, that exception is the failure to report.
    if (std::uncaught_exceptions() == 0 && !failure_) {
      failure_ = fmt::format("rank {} dropped its {} without waiting for it", rank,
                             name_of(operation.collective));
      changed_.notify_all();
    }
  }

  void returned(int rank) {
    const std::scoped_lock lock(mutex_);
    returned_[static_cast<std::size_t>(rank)] = true;
    changed_.notify_all();
  }

  void failed(int rank, std::exception_ptr exception, const std::string& message) {
    const std::scoped_lock lock(mutex_);
    if (!exception_) exception_ = std::move(exception);
    if (!failure_) failure_ = fmt::format("rank {} failed: {}", rank, message);
    changed_.notify_all();
  }

  void rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
    if (failure_) fail("{}", *failure_);
  }

 private:
  void check_order(int rank, std::int64_t number, const std::string& call) {
    auto& record = calls_.try_emplace(number, Call{call, rank, 0}).first->second;
    if (record.call != call) {
      fail("rank {} calls {} where rank {} calls {}: every rank must call the same collectives",
           rank, call, record.rank, record.call);
    }
    if (++record.posted == size_) calls_.erase(number);
  }

  std::optional<int> returned_member(const Operation& operation) const {
    for (std::size_t i = 0; i < operation.members.size(); ++i) {
      const auto rank = static_cast<std::size_t>(operation.first_rank) + i;
      if (returned_[rank]) return static_cast<int>(rank);
    }
    return std::nullopt;
  }

  struct Call {
    std::string call;
    int rank;
    int posted;
  };

  int size_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<std::int64_t, int>, std::shared_ptr<Operation>> operations_;
  std::map<std::int64_t, Call> calls_;
  std::vector<bool> returned_;
  std::optional<std::string> failure_;
  std::exception_ptr exception_;
};

class ThreadRequest : public Request {
 public:
  ThreadRequest(World& world, int rank, std::shared_ptr<Operation> operation)
      : world_(world), rank_(rank), operation_(std::move(operation)) {}
  ~ThreadRequest() override { world_.drop(rank_, *operation_); }
  void wait() override { world_.wait(rank_, *operation_); }

 private:
  World& world_;
  int rank_;
  std::shared_ptr<Operation> operation_;
};

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(World& world, int rank) : world_(world), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return world_.size(); }

 protected:
  std::unique_ptr<Request> start(Collective collective, std::span<const ConstBuffer> inputs,
                                 std::span<const Buffer> outputs, int group_size) override {
    if (group_size == 1) return copy_start(inputs, outputs);
    auto operation = world_.post(rank_, calls_++, collective, inputs, outputs, group_size);
    return std::make_unique<ThreadRequest>(world_, rank_, std::move(operation));
  }

 private:
  World& world_;
  int rank_;
  std::int64_t calls_ = 0;
};

void run_rank(World& world, int rank, const std::function<void(Communicator&)>& body) {
  try {
    ThreadCommunicator communicator(world, rank);
    body(communicator);
    world.returned(rank);
  } catch (const std::exception& exception) {
    world.failed(rank, std::current_exception(), exception.what());
  } catch (...) {
    world.failed(rank, std::current_exception(), "unknown exception");
  }
}

}  // namespace

void run_ranks(int world_size, const std::function<void(Communicator&)>& body) {
  if (world_size < 1) fail("a world needs at least one rank, not {}", world_size);
  World world(world_size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world_size; ++rank) {
    threads.emplace_back([&world, rank, &body] { run_rank(world, rank, body); });
  }
  for (std::thread& thread : threads) thread.join();
  world.rethrow();
}

}  // namespace toroid
