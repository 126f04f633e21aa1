#include "toroid/comm/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "toroid/base/error.h"

namespace toroid {
namespace {

class FinishedRequest : public Request {
 public:
  void wait() override {}
};

bool can_be_summed(DType dtype) {
  return is_float(dtype) || dtype == DType::i32 || dtype == DType::u32;
}

void check_group(const std::string& where, int group_size, int size) {
  if (group_size >= 1 && size % group_size == 0) return;
  std::vector<int> possible;
  for (int g = 1; g <= size; ++g) {
    if (size % g == 0) possible.push_back(g);
  }
  fail("{}: groups of {} ranks do not tile a world of {}; possible: {}", where, group_size, size,
       fmt::join(possible, ", "));
}

void check_pair(const std::string& where, Collective collective, ConstBuffer input,
                ConstBuffer output, int group_size) {
  if (input.dtype != output.dtype) {
    fail("{}: an input of {} cannot give an output of {}", where, name_of(input.dtype),
         name_of(output.dtype));
  }
  if (collective != Collective::kAllGather && !can_be_summed(input.dtype)) {
    fail("{}: cannot sum {}; f64, f32, bf16, i32 and u32 can be", where, name_of(input.dtype));
  }
  const std::int64_t wanted_input =
      output.elements * (collective == Collective::kReduceScatter ? group_size : 1);
  const std::int64_t wanted_output =
      input.elements * (collective == Collective::kAllGather ? group_size : 1);
  if (collective == Collective::kReduceScatter ? input.elements != wanted_input
                                               : output.elements != wanted_output) {
    fail("{}: an input of {} elements does not fit an output of {} in groups of {}", where,
         input.elements, output.elements, group_size);
  }
}

}  // namespace

std::string_view name_of(Collective collective) {
  switch (collective) {
    case Collective::kAllReduce:
      return "all_reduce";
    case Collective::kReduceScatter:
      return "reduce_scatter";
    case Collective::kAllGather:
      return "all_gather";
    case Collective::kBroadcast:
      return "broadcast";
    case Collective::kBarrier:
      return "barrier";
  }
  return "";
}

std::unique_ptr<Request> Communicator::checked_start(Collective collective,
                                                     std::span<const ConstBuffer> inputs,
                                                     std::span<const Buffer> outputs,
                                                     int group_size) {
  const std::string where = fmt::format("{} on rank {}", name_of(collective), rank());
  check_group(where, group_size, size());
  if (inputs.size() != outputs.size()) {
    fail("{}: {} inputs but {} outputs", where, inputs.size(), outputs.size());
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_pair(where, collective, inputs[i], outputs[i], group_size);
  }
  return start(collective, inputs, outputs, group_size);
}

std::unique_ptr<Request> Communicator::all_reduce_start(std::span<const ConstBuffer> inputs,
                                                        std::span<const Buffer> outputs,
                                                        int group_size) {
  return checked_start(Collective::kAllReduce, inputs, outputs, group_size);
}

std::unique_ptr<Request> Communicator::reduce_scatter_start(std::span<const ConstBuffer> inputs,
                                                            std::span<const Buffer> outputs,
                                                            int group_size) {
  return checked_start(Collective::kReduceScatter, inputs, outputs, group_size);
}

std::unique_ptr<Request> Communicator::all_gather_start(std::span<const ConstBuffer> inputs,
                                                        std::span<const Buffer> outputs,
                                                        int group_size) {
  return checked_start(Collective::kAllGather, inputs, outputs, group_size);
}

void Communicator::broadcast(Buffer buffer) {
  const ConstBuffer input = buffer;
  start(Collective::kBroadcast, {&input, 1}, {&buffer, 1}, size())->wait();
}

void Communicator::barrier() {
  start(Collective::kBarrier, {}, {}, size())->wait();
}

std::unique_ptr<Request> copy_start(std::span<const ConstBuffer> inputs,
                                    std::span<const Buffer> outputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].elements == 0 || inputs[i].data == outputs[i].data) continue;
    std::memcpy(outputs[i].data, inputs[i].data, static_cast<std::size_t>(inputs[i].bytes()));
  }
  return std::make_unique<FinishedRequest>();
}

void check_agreement(Communicator& communicator, std::string_view what, std::uint64_t hash) {
  const std::array<std::uint32_t, 2> mine = {static_cast<std::uint32_t>(hash),
                                             static_cast<std::uint32_t>(hash >> 32)};
  std::vector<std::array<std::uint32_t, 2>> all(static_cast<std::size_t>(communicator.size()));
  const ConstBuffer input{mine.data(), DType::u32, 2};
  const Buffer output{all.data(), DType::u32, 2 * communicator.size()};
  communicator.all_gather_start({&input, 1}, {&output, 1}, communicator.size())->wait();
  std::vector<std::size_t> others;
  for (std::size_t r = 1; r < all.size(); ++r) {
    if (all[r] != all[0]) others.push_back(r);
  }
  if (others.empty()) return;
  fail("the ranks do not agree on {}: {} {} {} from rank 0; every rank must find the same", what,
       others.size() == 1 ? "rank" : "ranks", fmt::join(others, ", "),
       others.size() == 1 ? "differs" : "differ");
}

std::vector<std::string> gather_texts(Communicator& communicator, std::string_view text) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const auto gather = [&](ConstBuffer input, Buffer output) {
    communicator.all_gather_start({&input, 1}, {&output, 1}, communicator.size())->wait();
  };
  const auto size = static_cast<std::int32_t>(text.size());
  std::vector<std::int32_t> sizes(ranks);
  gather({&size, DType::i32, 1}, {sizes.data(), DType::i32, communicator.size()});
  // All at the length of the longest: one call, whatever the lengths.
  const auto longest = static_cast<std::size_t>(*std::ranges::max_element(sizes));
  std::string mine(text), all(longest * ranks, '\0');
  mine.resize(longest);
  gather({mine.data(), DType::u8, static_cast<std::int64_t>(mine.size())},
         {all.data(), DType::u8, static_cast<std::int64_t>(all.size())});
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < ranks; ++r) {
    texts.push_back(all.substr(r * longest, static_cast<std::size_t>(sizes[r])));
  }
  return texts;
}

}  // namespace toroid
