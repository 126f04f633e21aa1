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
namespace detail {
/// bf16 in the upper halves, rounded to nearest even as BFloat16 does it; NaN stays NaN.
TOROID_INLINE void round(const Lanes& from, Words& to) {
  Words words;
  std::memcpy(&words, &from, sizeof(words));
  const Words nearest = words + 0x7fff + ((words >> 16) & 1);
  to = from == from ? nearest : words | 0x400000;
}
}  // namespace detail

TOROID_INLINE void store(const Lanes& from, BFloat16* to) {
  detail::Words words;
  detail::round(from, words);
  const detail::Halves halves = __builtin_convertvector(words >> 16, detail::Halves);
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

/// How a loop over rows handles some channels: how many registers, and whether all their lanes are
/// in use.
struct PartOfRegister {
  static constexpr std::int64_t kParts = 1;
  static constexpr bool kWhole = false;
};
struct OneRegister {
  static constexpr std::int64_t kParts = 1;
  static constexpr bool kWhole = true;
};
/// Of bf16 alone: the even and the odd channels of twice as many. A pair of neighbours is a word,
/// of which each half becomes an f32 by one instruction, where a register of halves takes several.
struct TwoRegisters {
  static constexpr std::int64_t kParts = 2;
  static constexpr bool kWhole = true;
};

template <class Mode, class T>
TOROID_INLINE void load_row(const T* from, std::int64_t lanes, Lanes (&to)[Mode::kParts]) {
  if constexpr (Mode::kParts == 1) {
    load_lanes<Mode::kWhole>(from, lanes, to[0]);
  } else {
    detail::Words words;
    std::memcpy(&words, from, sizeof(words));
    const detail::Words even = words << 16, odd = words & 0xffff0000U;
    std::memcpy(&to[0], &even, sizeof(even));
    std::memcpy(&to[1], &odd, sizeof(odd));
  }
}
template <class Mode, class T>
TOROID_INLINE void store_row(const Lanes (&from)[Mode::kParts], std::int64_t lanes, T* to) {
  if constexpr (Mode::kParts == 1) {
    store_lanes<Mode::kWhole>(from[0], lanes, to);
  } else {
    detail::Words even, odd;
    detail::round(from[0], even);
    detail::round(from[1], odd);
    const detail::Words words = (even >> 16) | (odd & 0xffff0000U);
    std::memcpy(static_cast<void*>(to), &words, sizeof(words));
  }
}
/// What each channel has one of, in the order in which load_row has the channels.
template <class Mode>
TOROID_INLINE void load_per_channel(const float* from, std::int64_t lanes,
                                    Lanes (&to)[Mode::kParts]) {
  if constexpr (Mode::kParts == 1) {
    load_lanes<Mode::kWhole>(from, lanes, to[0]);
  } else {
    for (std::int64_t i = 0; i < kLanes; ++i) {
      to[0][i] = from[2 * i];
      to[1][i] = from[2 * i + 1];
    }
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
