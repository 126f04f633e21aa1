#include "toroid/comm/packing.h"

#include <cstring>

namespace toroid {

void Wire::pack(const std::byte* from, std::int64_t elements, std::byte* to) const {
  if (!widened_) {
    std::memcpy(to, from, bytes(elements));
    return;
  }
  const auto* in = reinterpret_cast<const BFloat16*>(from);
  auto* out = reinterpret_cast<float*>(to);
  for (std::int64_t i = 0; i < elements; ++i) out[i] = static_cast<float>(in[i]);
}

void Wire::unpack(const std::byte* from, std::int64_t elements, std::byte* to) const {
  if (!widened_) {
    std::memcpy(to, from, bytes(elements));
    return;
  }
  const auto* in = reinterpret_cast<const float*>(from);
  auto* out = reinterpret_cast<BFloat16*>(to);
  for (std::int64_t i = 0; i < elements; ++i) out[i] = BFloat16(in[i]);
}

StagingPool::Memory StagingPool::take(std::size_t bytes) {
  // The smallest that is large enough.
  std::size_t best = free_.size();
  for (std::size_t i = 0; i < free_.size(); ++i) {
    const bool fits = free_[i].size() >= bytes;
    if (fits && (best == free_.size() || free_[i].size() < free_[best].size())) best = i;
  }
  if (best == free_.size()) return Memory(bytes);
  Memory taken = std::move(free_[best]);
  free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(best));
  return taken;
}

}  // namespace toroid
