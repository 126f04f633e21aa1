// Element types of tensors, and the C++ type that stores each.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace toroid {

/// bfloat16: the upper half of an IEEE f32; conversion rounds to nearest even, NaN stays NaN.
struct BFloat16 {
  std::uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) : bits(round(value)) {}
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
  friend bool operator==(BFloat16, BFloat16) = default;

 private:
  static std::uint16_t round(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    if (value != value) return static_cast<std::uint16_t>((word >> 16) | 0x40);
    return static_cast<std::uint16_t>((word + 0x7fff + ((word >> 16) & 1)) >> 16);
  }
};

enum class DType : std::uint8_t { f64, f32, bf16, i32, u32, u8, boolean };

/// Bytes of one element.
std::size_t size_of(DType dtype);
/// "f32", "bf16", "bool", ...
std::string_view name_of(DType dtype);
/// True for f64, f32 and bf16.
bool is_float(DType dtype);

namespace detail {
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<std::uint32_t> {
  static constexpr DType value = DType::u32;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};
}  // namespace detail

/// The DType whose elements are stored as T.
template <class T>
inline constexpr DType dtype_of = detail::DTypeOf<T>::value;

}  // namespace toroid
