// One vector register's worth of channels, as kernels on activations handle them.
#pragma once

#include <cstdint>
#include <cstring>

#include "toroid/base/clones.h"
#include "toroid/base/dtype.h"

namespace toroid::cpu {

inline constexpr std::int64_t kLanes = 16;

/// Compiled for any instruction set; one register where there is AVX-512.
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float)), may_alias));

namespace detail {
using Words = std::uint32_t __attribute__((vector_size(kLanes * sizeof(float)), may_alias));
using Halves =
    std::uint16_t __attribute__((vector_size(kLanes * sizeof(std::uint16_t)), may_alias));
}  // namespace detail

/// x repeated.
TOROID_INLINE void fill(Lanes& lanes, float x) {
  lanes = x - Lanes{};
}

TOROID_INLINE void load(const float* from, Lanes& to) {
  std::memcpy(&to, from, sizeof(to));
}
TOROID_INLINE void load(const BFloat16* from, Lanes& to) {
  detail::Halves halves;
  std::memcpy(&halves, from, sizeof(halves));
  const detail::Words words = __builtin_convertvector(halves, detail::Words) << 16;
  std::memcpy(&to, &words, sizeof(to));
}
TOROID_INLINE void store(const Lanes& from, float* to) {
  std::memcpy(to, &from, sizeof(from));
}
/// Rounds to nearest even as BFloat16 does, NaN stays NaN.
TOROID_INLINE void store(const Lanes& from, BFloat16* to) {
  detail::Words words;
  std::memcpy(&words, &from, sizeof(words));
  const detail::Words rounded = (words + 0x7fff + ((words >> 16) & 1)) >> 16;
  const detail::Words quiet = (words >> 16) | 0x40;
  const detail::Words chosen = from == from ? rounded : quiet;
  const detail::Halves halves = __builtin_convertvector(chosen, detail::Halves);
  std::memcpy(static_cast<void*>(to), &halves, sizeof(halves));
}

/// The same for the first `count` lanes; the rest are 0, or not stored.
template <class T>
TOROID_INLINE void load_some(const T* from, std::int64_t count, Lanes& to) {
  T all[kLanes] = {};
  std::memcpy(static_cast<void*>(all), from, static_cast<std::size_t>(count) * sizeof(T));
  load(all, to);
}
template <class T>
TOROID_INLINE void store_some(const Lanes& from, std::int64_t count, T* to) {
  T all[kLanes];
  store(from, all);
  std::memcpy(static_cast<void*>(to), all, static_cast<std::size_t>(count) * sizeof(T));
}

}  // namespace toroid::cpu
