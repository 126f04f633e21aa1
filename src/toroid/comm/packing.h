// Buckets of buffers packed for the wire: one dtype, contiguous, in staging memory that is reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "toroid/base/dtype.h"

namespace toroid {

/// How elements travel: as they are, but bf16 as f32 where they are to be summed.
class Wire {
 public:
  Wire(DType stored, bool summed)
      : dtype_(stored == DType::bf16 && summed ? DType::f32 : stored), widened_(dtype_ != stored) {}

  DType dtype() const { return dtype_; }
  bool widened() const { return widened_; }
  std::size_t bytes(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * size_of(dtype_);
  }
  /// Stored form -> wire form.
  void pack(const std::byte* from, std::int64_t elements, std::byte* to) const;
  /// Wire form -> stored form; f32 rounds to bf16.
  void unpack(const std::byte* from, std::int64_t elements, std::byte* to) const;

 private:
  DType dtype_;
  bool widened_;
};

/// The non-empty buffers of one dtype among those of a collective.
struct Bucket {
  std::vector<std::size_t> buffers;  ///< their indices
  Wire wire;
};

/// The packed order of a bucket: for each of `parts` ranks its equal part of each buffer in turn.
/// Calls f(buffer's index, first element in the buffer, place in the bucket, elements) for each.
template <class AnyBuffer, class F>
void for_pieces(const Bucket& bucket, int parts, std::span<const AnyBuffer> buffers, F&& f) {
  std::int64_t place = 0;
  for (int k = 0; k < parts; ++k) {
    for (const std::size_t i : bucket.buffers) {
      const std::int64_t n = buffers[i].elements / parts;
      f(i, k * n, place, n);
      place += n;
    }
  }
}

/// Memory for packed buckets, kept from step to step: after the first, a step allocates none.
class StagingPool {
 public:
  using Memory = std::vector<std::byte>;

  Memory take(std::size_t bytes);
  void give_back(Memory memory) { free_.push_back(std::move(memory)); }

 private:
  std::vector<Memory> free_;
};

}  // namespace toroid
