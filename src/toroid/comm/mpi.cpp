// Only the C interface; the old C++ one needs a library of its own.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include "toroid/comm/mpi.h"

#include <fmt/format.h>
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <vector>

#include "toroid/base/error.h"
#include "toroid/comm/launch.h"
#include "toroid/comm/packing.h"
#include "toroid/comm/self.h"

namespace toroid {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array kDTypes = {DType::f64, DType::f32, DType::bf16,   DType::i32,
                                DType::u32, DType::u8,  DType::boolean};

MPI_Datatype mpi_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return MPI_DOUBLE;
    case DType::f32:
      return MPI_FLOAT;
    case DType::bf16:  // moved only; sums travel as f32
      return MPI_UINT16_T;
    case DType::i32:
      return MPI_INT32_T;
    case DType::u32:
      return MPI_UINT32_T;
    case DType::u8:
    case DType::boolean:
      break;
  }
  return MPI_UINT8_T;
}

class MpiWorld;

class MpiRequest : public Request {
 public:
  MpiRequest(MpiWorld& world, Collective collective, int group_size)
      : world_(world), collective_(collective), group_size_(group_size) {}
  ~MpiRequest() override;
  void wait() override;

 private:
  friend class MpiWorld;
  MpiWorld& world_;
  Collective collective_;
  int group_size_;
  std::int64_t bytes_ = 0;
  std::vector<MPI_Request> requests_;
  std::vector<StagingPool::Memory> staging_;
  std::vector<std::function<void()>> unpack_;
};

class MpiWorld : public Communicator {
 public:
  explicit MpiWorld(double timeout_seconds) : timeout_seconds_(timeout_seconds) {
    int initialised = 0;
    MPI_Initialized(&initialised);
    if (initialised) fail("MPI can be started once in a process");
    int provided = 0;
    // Calls are made one at a time under a mutex, so SERIALIZED is enough (and cheaper).
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) {
      fail("MPI_Init_thread failed");
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    if (provided < MPI_THREAD_SERIALIZED) {
      fail(
          "this MPI library does not allow calls from more than one thread "
          "(MPI_THREAD_SERIALIZED); Debian's Open MPI does");
    }
  }

  ~MpiWorld() override {
    // MPI_Finalize waits for every rank. After an exception here the others may never come; ending
    // the process without it makes the launcher end them.
    if (broken_ || std::uncaught_exceptions() > exceptions_) return;
    for (auto& [group_size, comm] : groups_) MPI_Comm_free(&comm);
    MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

 protected:
  std::unique_ptr<Request> start(Collective collective, std::span<const ConstBuffer> inputs,
                                 std::span<const Buffer> outputs, int group_size) override {
    if (group_size == 1) return copy_start(inputs, outputs);
    auto request = std::make_unique<MpiRequest>(*this, collective, group_size);
    const std::scoped_lock lock(mutex_);  // after the request: its end takes the mutex too
    MPI_Comm comm = group(group_size);
    if (collective == Collective::kBarrier) {
      check(MPI_Ibarrier(comm, add(*request)), collective);
      return request;
    }
    const bool summed =
        collective == Collective::kAllReduce || collective == Collective::kReduceScatter;
    for (const DType dtype : kDTypes) {
      Bucket bucket{{}, Wire(dtype, summed)};
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].dtype == dtype && inputs[i].elements > 0) bucket.buffers.push_back(i);
      }
      if (!bucket.buffers.empty()) start_bucket(*request, comm, bucket, inputs, outputs);
    }
    return request;
  }

 private:
  friend class MpiRequest;

  // Ranks of one group; made by all ranks together when the group size is first used.
  MPI_Comm group(int group_size) {
    const auto found = groups_.find(group_size);
    if (found != groups_.end()) return found->second;
    MPI_Comm comm = MPI_COMM_NULL;
    const int code = MPI_Comm_split(MPI_COMM_WORLD, rank_ / group_size, rank_, &comm);
    if (code != MPI_SUCCESS) {
      fail("making groups of {} ranks failed on rank {}: {}", group_size, rank_, reason(code));
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return groups_[group_size] = comm;
  }

  static std::string reason(int code) {
    std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    return text.data();
  }
  void check(int code, Collective collective) {
    if (code == MPI_SUCCESS) return;
    broken_ = true;
    fail("{} on rank {} failed: {}", name_of(collective), rank_, reason(code));
  }
  static MPI_Request* add(MpiRequest& request) {
    return &request.requests_.emplace_back(MPI_REQUEST_NULL);
  }

  // How many parts inputs and outputs of a collective consist of.
  static int input_parts(Collective collective, int group_size) {
    return collective == Collective::kReduceScatter ? group_size : 1;
  }
  static int output_parts(Collective collective, int group_size) {
    return collective == Collective::kAllGather ? group_size : 1;
  }

  void start_bucket(MpiRequest& request, MPI_Comm comm, const Bucket& bucket,
                    std::span<const ConstBuffer> inputs, std::span<const Buffer> outputs) {
    const int in_parts = input_parts(request.collective_, request.group_size_);
    const int out_parts = output_parts(request.collective_, request.group_size_);
    std::int64_t part = 0;
    for (const std::size_t i : bucket.buffers) part += inputs[i].elements / in_parts;
    request.bytes_ += static_cast<std::int64_t>(bucket.wire.bytes(part * in_parts));
    const std::size_t first = bucket.buffers.front();
    if (bucket.buffers.size() == 1 && !bucket.wire.widened()) {
      start_on(request, comm, inputs[first].data, outputs[first].data, bucket.wire.dtype(), part);
      return;
    }
    std::byte* packed = stage(request, bucket.wire.bytes(part * in_parts));
    for_pieces(bucket, in_parts, inputs,
               [&](std::size_t i, std::int64_t offset, std::int64_t at, std::int64_t n) {
                 bucket.wire.pack(static_cast<const std::byte*>(inputs[i].data) +
                                      offset * static_cast<std::int64_t>(size_of(inputs[i].dtype)),
                                  n, packed + bucket.wire.bytes(at));
               });
    const bool in_place = in_parts == 1 && out_parts == 1;
    std::byte* result = in_place ? packed : stage(request, bucket.wire.bytes(part * out_parts));
    start_on(request, comm, packed, result, bucket.wire.dtype(), part);
    request.unpack_.push_back(
        [bucket, out_parts, result, copy = std::vector<Buffer>(outputs.begin(), outputs.end())] {
          for_pieces(bucket, out_parts, std::span<const Buffer>(copy),
                     [&](std::size_t i, std::int64_t offset, std::int64_t at, std::int64_t n) {
                       bucket.wire.unpack(
                           result + bucket.wire.bytes(at), n,
                           static_cast<std::byte*>(copy[i].data) +
                               offset * static_cast<std::int64_t>(size_of(copy[i].dtype)));
                     });
        });
  }

  std::byte* stage(MpiRequest& request, std::size_t bytes) {
    return request.staging_.emplace_back(pool_.take(bytes)).data();
  }

  // `part` elements are what each rank has of an all_gather or gets of a reduce_scatter.
  void start_on(MpiRequest& request, MPI_Comm comm, const void* input, void* output, DType dtype,
                std::int64_t part) {
    const MPI_Datatype type = mpi_type(dtype);
    const Collective collective = request.collective_;
    if (collective == Collective::kAllReduce || collective == Collective::kBroadcast) {
      // MPI counts in int: longer buckets go in pieces.
      constexpr std::int64_t kPiece = std::int64_t{1} << 30;
      for (std::int64_t at = 0; at < part; at += kPiece) {
        const auto offset = at * static_cast<std::int64_t>(size_of(dtype));
        const auto count = static_cast<int>(std::min(kPiece, part - at));
        auto* to = static_cast<std::byte*>(output) + offset;
        const auto* from = static_cast<const std::byte*>(input) + offset;
        check(collective == Collective::kBroadcast
                  ? MPI_Ibcast(to, count, type, 0, comm, add(request))
                  : MPI_Iallreduce(input == output ? MPI_IN_PLACE : from, to, count, type, MPI_SUM,
                                   comm, add(request)),
              collective);
      }
      return;
    }
    if (part > std::numeric_limits<int>::max()) {
      fail("{} on rank {}: {} elements a rank are more than MPI counts (2^31 - 1)",
           name_of(collective), rank_, part);
    }
    const auto count = static_cast<int>(part);
    check(collective == Collective::kReduceScatter
              ? MPI_Ireduce_scatter_block(input, output, count, type, MPI_SUM, comm, add(request))
              : MPI_Iallgather(input, count, type, output, count, type, comm, add(request)),
          collective);
  }

  bool test(MpiRequest& request) {
    const std::scoped_lock lock(mutex_);
    int done = 0;
    check(MPI_Testall(static_cast<int>(request.requests_.size()), request.requests_.data(), &done,
                      MPI_STATUSES_IGNORE),
          request.collective_);
    return done != 0;
  }

  void wait(MpiRequest& request) {
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                             std::chrono::duration<double>(timeout_seconds_));
    while (!test(request)) {
      if (Clock::now() > deadline) {
        broken_ = true;
        const int first = rank_ / request.group_size_ * request.group_size_;
        fail(
            "{} ({} bytes) on rank {} did not finish within {} s: one of ranks {} to {} is "
            "stopped, dead or far behind",
            name_of(request.collective_), request.bytes_, rank_, timeout_seconds_, first,
            first + request.group_size_ - 1);
      }
      ::sched_yield();  // the other ranks may share this core
    }
    for (const auto& unpack : request.unpack_) unpack();
    const std::scoped_lock lock(mutex_);
    for (auto& memory : request.staging_) pool_.give_back(std::move(memory));
    request.staging_.clear();
    request.unpack_.clear();
    request.requests_.clear();
  }

  // MPI still works on these buffers: keep the ones that are ours, and never finalise.
  void abandon(MpiRequest& request) {
    const std::scoped_lock lock(mutex_);
    broken_ = true;
    for (auto& memory : request.staging_) abandoned_.push_back(std::move(memory));
  }

  double timeout_seconds_;
  int rank_ = 0, size_ = 1;
  int exceptions_ = std::uncaught_exceptions();
  bool broken_ = false;
  std::mutex mutex_;
  std::map<int, MPI_Comm> groups_;
  StagingPool pool_;
  std::vector<StagingPool::Memory> abandoned_;
};

MpiRequest::~MpiRequest() {
  if (!requests_.empty()) world_.abandon(*this);
}

void MpiRequest::wait() {
  world_.wait(*this);
}

}  // namespace

std::unique_ptr<Communicator> world_communicator(double timeout_seconds) {
  const auto launcher = find_launcher();
  if (!launcher) return std::make_unique<SelfCommunicator>();
  auto world = std::make_unique<MpiWorld>(timeout_seconds);
  if (launcher->ranks > 0 && launcher->ranks != world->size()) {
    fail(
        "the launcher started {} ranks ({}), but MPI sees a world of {}: use the mpirun of the MPI "
        "that toroid was built with ({}), or srun --mpi=pmix",
        launcher->ranks, launcher->variable, world->size(),
#ifdef OPEN_MPI
        "Open MPI"
#else
        "MPICH"
#endif
    );
  }
  return world;
}

void exit_all_ranks(int status) {
  int initialised = 0, finalised = 0;
  MPI_Initialized(&initialised);
  MPI_Finalized(&finalised);
  std::fflush(nullptr);
  if (initialised && !finalised) MPI_Abort(MPI_COMM_WORLD, status);
  std::exit(status);
}

}  // namespace toroid
