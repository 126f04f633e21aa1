// Collectives between the ranks of a run, whatever carries them: one process (self.h), threads of
// one process (threads.h), MPI (mpi.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "toroid/base/dtype.h"

namespace toroid {

/// A view of elements that a collective reads; owned by the caller.
struct ConstBuffer {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t elements = 0;

  std::int64_t bytes() const { return elements * static_cast<std::int64_t>(size_of(dtype)); }
};

/// A view of elements that a collective writes; owned by the caller.
struct Buffer {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t elements = 0;

  std::int64_t bytes() const { return ConstBuffer(*this).bytes(); }
  /// Implicit, as from a span to a span of const.
  operator ConstBuffer() const {  // NOLINT(google-explicit-constructor)
    return {data, dtype, elements};
  }
};

enum class Collective { kAllReduce, kReduceScatter, kAllGather, kBroadcast, kBarrier };

/// "all_reduce", "reduce_scatter", ...
std::string_view name_of(Collective collective);

/// A collective in flight.
class Request {
 public:
  Request() = default;
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;
  /// Dropping a request that was not waited for breaks the run for every rank; it is meant for an
  /// exception that ends the run anyway.
  virtual ~Request() = default;

  /// Returns when the outputs hold the result; Error naming rank and collective when it cannot be
  /// completed. Call it once.
  virtual void wait() = 0;
};

/// One rank's end of a world of `size()` ranks.
///
/// Collectives work within replica groups: with group size g, which divides size(), the ranks r
/// with equal r / g form a group. Every rank calls the same collectives, of the same types and
/// sizes, in the same order. A collective is variadic: it treats a bucket of buffers as one
/// operation, the i-th input giving the i-th output. Inputs and outputs stay valid, and outputs are
/// not touched, from the start until wait() returns. An output may be its own input (same address)
/// in all_reduce; buffers overlap in no other way. In a group of one every collective is a copy.
///
/// Sums are taken in the buffers' dtype: f64, f32, i32 and u32 (modulo 2^32); bf16 is added in f32
/// and rounded once. Every rank of a group gets the same bits.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// outputs[i] = the sum over the group of inputs[i]; equal dtypes and element counts.
  std::unique_ptr<Request> all_reduce_start(std::span<const ConstBuffer> inputs,
                                            std::span<const Buffer> outputs, int group_size);
  /// inputs[i], of g * n elements, is summed over the group; the k-th rank of the group gets the
  /// elements k * n .. (k + 1) * n - 1 of the sum in outputs[i], of n elements.
  std::unique_ptr<Request> reduce_scatter_start(std::span<const ConstBuffer> inputs,
                                                std::span<const Buffer> outputs, int group_size);
  /// outputs[i], of g * n elements, is the group's inputs[i], of n elements each, in rank order.
  /// Any dtype.
  std::unique_ptr<Request> all_gather_start(std::span<const ConstBuffer> inputs,
                                            std::span<const Buffer> outputs, int group_size);
  /// Copies rank 0's elements to every rank of the world; any dtype. Blocks.
  void broadcast(Buffer buffer);
  /// Returns when every rank of the world has called it.
  void barrier();

 protected:
  /// Starts a collective whose arguments were checked. A broadcast comes as one buffer that is
  /// input and output, a barrier without buffers, both with group_size = size().
  virtual std::unique_ptr<Request> start(Collective collective, std::span<const ConstBuffer> inputs,
                                         std::span<const Buffer> outputs, int group_size) = 0;

 private:
  std::unique_ptr<Request> checked_start(Collective collective, std::span<const ConstBuffer> inputs,
                                         std::span<const Buffer> outputs, int group_size);
};

/// What every collective is in a group of one: copies the inputs and returns a finished request.
std::unique_ptr<Request> copy_start(std::span<const ConstBuffer> inputs,
                                    std::span<const Buffer> outputs);

/// Compares a 64-bit hash over all ranks (of the recipe, of the data set's checksums, ...). The
/// same Error on every rank unless all agree; it names `what` and the ranks that differ from rank
/// 0.
void check_agreement(Communicator& communicator, std::string_view what, std::uint64_t hash);

/// Every rank's text, in rank order; of any lengths.
std::vector<std::string> gather_texts(Communicator& communicator, std::string_view text);

}  // namespace toroid
