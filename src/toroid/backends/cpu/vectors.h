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

/// All lanes, or the first `count`: the rest are loaded as 0, and not stored. Loops over rows or
/// elements are compiled for whole registers and for parts apart, as what is known outside a loop
/// does not stay in registers across the calls that parts need.
template <bool kWhole, class T>
TOROID_INLINE void load_lanes(const T* from, std::int64_t count, Lanes& to) {
  if constexpr (kWhole) {
    load(from, to);
  } else {
    T all[kLanes] = {};
    std::memcpy(static_cast<void*>(all), from, static_cast<std::size_t>(count) * sizeof(T));
    load(all, to);
  }
}
template <bool kWhole, class T>
TOROID_INLINE void store_lanes(const Lanes& from, std::int64_t count, T* to) {
  if constexpr (kWhole) {
    store(from, to);
  } else {
    T all[kLanes];
    store(from, all);
    std::memcpy(static_cast<void*>(to), all, static_cast<std::size_t>(count) * sizeof(T));
  }
}

/// Whether a loop's body runs on whole registers: its first argument.
template <bool kValue>
struct Whole {
  static constexpr bool value = kValue;
};

/// Calls f(Whole<...>, i, lanes) for the elements first..last-1, a register at a time. f must be
/// declared TOROID_INLINE_LAMBDA.
template <class F>
TOROID_INLINE void for_each_lanes(std::int64_t first, std::int64_t last, F&& f) {
  std::int64_t i = first;
  for (; i + kLanes <= last; i += kLanes) f(Whole<true>{}, i, kLanes);
  if (i < last) f(Whole<false>{}, i, last - i);
}

void convert_range(const float* from, BFloat16* to, std::int64_t count);
void convert_range(const BFloat16* from, float* to, std::int64_t count);

}  // namespace toroid::cpu
