#include "toroid/comm/contract.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <limits>
#include <vector>

#include "toroid/base/error.h"
#include "toroid/base/random.h"
#include "toroid/base/tensor.h"

namespace toroid {
namespace {

constexpr std::array kLengths = {0, 1, 2, 7, 13, 101, 1009};
constexpr std::array kSummed = {DType::f64, DType::f32, DType::bf16, DType::i32, DType::u32};
constexpr std::array kAll = {DType::f64, DType::f32, DType::bf16,   DType::i32,
                             DType::u32, DType::u8,  DType::boolean};

ConstBuffer view(const Tensor& tensor) {
  return {tensor.raw(), tensor.dtype(), tensor.elements()};
}
Buffer view(Tensor& tensor) {
  return {tensor.raw(), tensor.dtype(), tensor.elements()};
}

// A small integer (0 or 1 for bool) that tells rank, buffer and position apart; sums of a few are
// exact in bf16.
int element(int rank, int buffer, std::int64_t i, DType dtype) {
  const auto value = static_cast<int>((3 * rank + 5 * buffer + i) % 17);
  return dtype == DType::boolean ? value % 2 : value;
}

template <class F>
Tensor filled(DType dtype, std::int64_t n, F&& value) {
  Tensor integers(DType::i32, Shape{n});
  auto values = integers.values<std::int32_t>();
  for (std::int64_t i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = value(i);
  return integers.converted(dtype);
}

Tensor of_rank(int rank, int buffer, DType dtype, std::int64_t n) {
  return filled(dtype, n, [&](std::int64_t i) { return element(rank, buffer, i, dtype); });
}

// A value that no correct result has, so that an output left alone is noticed.
Tensor unwritten(DType dtype, std::int64_t n) {
  Tensor tensor(dtype, Shape{n});
  std::fill_n(tensor.raw(), tensor.bytes(), std::byte{0x7b});
  return tensor;
}

void expect(bool right, Collective collective, const Communicator& communicator, int group_size,
            const Tensor& tensor) {
  if (right) return;
  fail("{} on rank {} of {} in groups of {} gives a wrong {}", name_of(collective),
       communicator.rank(), communicator.size(), group_size, tensor.type().str());
}

// A collective over one bucket: all lengths of the given dtypes.
struct Bucket {
  std::deque<Tensor> tensors;
  std::vector<ConstBuffer> inputs;
  std::vector<Buffer> outputs;
  std::vector<Tensor> expected;

  void add(Tensor input, Tensor result, bool in_place = false) {
    tensors.push_back(std::move(input));
    Tensor& in = tensors.back();
    inputs.push_back(view(std::as_const(in)));
    if (!in_place) tensors.push_back(unwritten(result.dtype(), result.elements()));
    outputs.push_back(view(tensors.back()));
    expected.push_back(std::move(result));
  }
  void check(Collective collective, const Communicator& communicator, int group_size) const {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const auto bytes = expected[i].bytes();
      expect(bytes == 0 || std::memcmp(outputs[i].data, expected[i].raw(), bytes) == 0, collective,
             communicator, group_size, expected[i]);
    }
  }
};

struct Group {
  int first, size, position;
};

Group group_of(const Communicator& communicator, int group_size) {
  const int first = communicator.rank() / group_size * group_size;
  return {first, group_size, communicator.rank() - first};
}

int group_sum(const Group& group, int buffer, std::int64_t i, DType dtype) {
  int sum = 0;
  for (int r = group.first; r < group.first + group.size; ++r) sum += element(r, buffer, i, dtype);
  return sum;
}

void add_all_reduce(Bucket& bucket, const Group& group, int rank, DType dtype, bool in_place) {
  for (const int n : kLengths) {
    const auto buffer = static_cast<int>(bucket.inputs.size());
    bucket.add(of_rank(rank, buffer, dtype, n),
               filled(dtype, n, [&](std::int64_t i) { return group_sum(group, buffer, i, dtype); }),
               in_place);
  }
}

void add_reduce_scatter(Bucket& bucket, const Group& group, int rank, DType dtype) {
  for (const int n : kLengths) {
    const auto buffer = static_cast<int>(bucket.inputs.size());
    bucket.add(of_rank(rank, buffer, dtype, std::int64_t{n} * group.size),
               filled(dtype, n, [&](std::int64_t i) {
                 return group_sum(group, buffer, i + std::int64_t{n} * group.position, dtype);
               }));
  }
}

void add_all_gather(Bucket& bucket, const Group& group, int rank, DType dtype) {
  for (const int n : kLengths) {
    const auto buffer = static_cast<int>(bucket.inputs.size());
    bucket.add(of_rank(rank, buffer, dtype, n),
               filled(dtype, std::int64_t{n} * group.size, [&](std::int64_t i) {
                 return element(group.first + static_cast<int>(i / n), buffer, i % n, dtype);
               }));
  }
}

// All three collectives of one bucket in flight at once, waited for in another order.
void check_buckets(Communicator& communicator, int group_size, std::span<const DType> dtypes,
                   bool in_place) {
  const Group group = group_of(communicator, group_size);
  Bucket reduced, scattered, gathered;
  for (const DType dtype : dtypes) {
    if (std::find(kSummed.begin(), kSummed.end(), dtype) != kSummed.end()) {
      add_all_reduce(reduced, group, communicator.rank(), dtype, in_place);
      add_reduce_scatter(scattered, group, communicator.rank(), dtype);
    }
    add_all_gather(gathered, group, communicator.rank(), dtype);
  }
  const auto first = communicator.all_reduce_start(reduced.inputs, reduced.outputs, group_size);
  const auto second =
      communicator.reduce_scatter_start(scattered.inputs, scattered.outputs, group_size);
  const auto third = communicator.all_gather_start(gathered.inputs, gathered.outputs, group_size);
  second->wait();
  third->wait();
  first->wait();
  reduced.check(Collective::kAllReduce, communicator, group_size);
  scattered.check(Collective::kReduceScatter, communicator, group_size);
  gathered.check(Collective::kAllGather, communicator, group_size);
}

// One buffer alone takes another way (nothing to pack).
void check_single(Communicator& communicator, int group_size, DType dtype, bool in_place) {
  const Group group = group_of(communicator, group_size);
  Bucket all;
  add_all_reduce(all, group, communicator.rank(), dtype, in_place);
  for (std::size_t i = 0; i < all.inputs.size(); ++i) {
    communicator.all_reduce_start({&all.inputs[i], 1}, {&all.outputs[i], 1}, group_size)->wait();
  }
  all.check(Collective::kAllReduce, communicator, group_size);
}

// Fractions: the sum is near the exact one, and every rank of the group has the same bits.
void check_fractions(Communicator& communicator, int group_size) {
  constexpr std::int64_t kElements = 10007;
  const Group group = group_of(communicator, group_size);
  Tensor mine(DType::f32, Shape{kElements}), sum = mine;
  std::vector<double> exact(kElements);
  for (int r = group.first; r < group.first + group.size; ++r) {
    Random random(1, "fractions", static_cast<std::uint32_t>(r));
    for (std::size_t i = 0; i < exact.size(); ++i) {
      const auto value = static_cast<float>(random.uniform(-1, 1));
      exact[i] += value;
      if (r == communicator.rank()) mine.values<float>()[i] = value;
    }
  }
  const ConstBuffer input = view(std::as_const(mine));
  const Buffer output = view(sum);
  communicator.all_reduce_start({&input, 1}, {&output, 1}, group_size)->wait();
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double error = std::abs(sum.values<float>()[i] - exact[i]);
    expect(error <= 1e-6 * group_size, Collective::kAllReduce, communicator, group_size, sum);
  }
  Tensor all(DType::f32, Shape{kElements * group_size});
  const ConstBuffer part = view(std::as_const(sum));
  const Buffer gathered = view(all);
  communicator.all_gather_start({&part, 1}, {&gathered, 1}, group_size)->wait();
  for (int r = 0; r < group_size; ++r) {
    const bool same = std::memcmp(all.raw() + sum.bytes() * static_cast<std::size_t>(r), sum.raw(),
                                  sum.bytes()) == 0;
    expect(same, Collective::kAllReduce, communicator, group_size, sum);
  }
}

void check_wrapping_and_rounding(Communicator& communicator) {
  const int world = communicator.size();
  // i32 and u32 are sums modulo 2^32.
  Tensor wraps = Tensor::scalar<std::int32_t>(std::numeric_limits<std::int32_t>::max());
  // In bf16, 256 + 1 is 256: adding the ones one by one in bf16 would lose them all.
  Tensor rounds = Tensor::scalar(BFloat16(communicator.rank() == 0 ? 256.0F : 1.0F));
  const std::array inputs = {view(std::as_const(wraps)), view(std::as_const(rounds))};
  const std::array outputs = {view(wraps), view(rounds)};
  communicator.all_reduce_start(inputs, outputs, world)->wait();
  const auto expected = static_cast<std::uint32_t>(world) * 0x7fffffffU;
  expect(wraps.values<std::int32_t>()[0] == static_cast<std::int32_t>(expected),
         Collective::kAllReduce, communicator, world, wraps);
  expect(rounds.values<BFloat16>()[0] == BFloat16(256.0F + static_cast<float>(world - 1)),
         Collective::kAllReduce, communicator, world, rounds);
}

void check_broadcast(Communicator& communicator) {
  for (const DType dtype : kAll) {
    for (const int n : kLengths) {
      Tensor tensor = of_rank(communicator.rank(), 0, dtype, n);
      communicator.broadcast(view(tensor));
      expect(tensor.identical(of_rank(0, 0, dtype, n)), Collective::kBroadcast, communicator,
             communicator.size(), tensor);
    }
  }
}

// As long as the rank's number: the first is empty.
void check_texts(Communicator& communicator) {
  const auto text_of = [](int rank) {
    return std::string(static_cast<std::size_t>(rank), static_cast<char>('a' + rank % 26));
  };
  const auto texts = gather_texts(communicator, text_of(communicator.rank()));
  bool right = std::ssize(texts) == communicator.size();
  for (int r = 0; right && r < communicator.size(); ++r) {
    right = texts[static_cast<std::size_t>(r)] == text_of(r);
  }
  if (!right) fail("gather_texts on rank {}: not every rank's text", communicator.rank());
}

}  // namespace

void check_collectives(Communicator& communicator) {
  check_broadcast(communicator);
  communicator.barrier();
  for (int group_size = 1; group_size <= communicator.size(); ++group_size) {
    if (communicator.size() % group_size != 0) continue;
    for (const bool in_place : {false, true}) {
      check_buckets(communicator, group_size, kAll, in_place);
      for (const DType dtype : kSummed) {
        check_buckets(communicator, group_size, {&dtype, 1}, in_place);
        check_single(communicator, group_size, dtype, in_place);
      }
    }
    check_fractions(communicator, group_size);
    communicator.all_reduce_start({}, {}, group_size)->wait();
  }
  check_wrapping_and_rounding(communicator);
  check_texts(communicator);
  check_agreement(communicator, "contract", 0x123456789abcdef0);
  communicator.barrier();
}

}  // namespace toroid
