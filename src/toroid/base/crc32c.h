// CRC-32C (Castagnoli), and TFRecord's masked form of it.
#pragma once

#include <cstdint>
#include <string_view>

namespace toroid {

/// CRC-32C of `bytes`, as in iSCSI (RFC 3720, B.4); crc32c("123456789") = 0xE3069283. With the CRC
/// of the bytes before them as `previous`, that of both together.
std::uint32_t crc32c(std::string_view bytes, std::uint32_t previous = 0);

/// The form stored in TFRecord files: rotated right by 15 bits, plus 0xa282ead8.
inline std::uint32_t masked_crc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

}  // namespace toroid
