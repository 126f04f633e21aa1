#include "toroid/base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>
#include <limits>

namespace toroid {

std::uint32_t crc32c(std::string_view bytes, std::uint32_t previous) {
  std::uint32_t crc = ~previous;
  while (!bytes.empty()) {  // ISA-L counts in int
    const auto part =
        std::min(bytes.size(), static_cast<std::size_t>(std::numeric_limits<int>::max()));
    auto* start = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    crc = ::crc32_iscsi(start, static_cast<int>(part), crc);
    bytes.remove_prefix(part);
  }
  return ~crc;
}

}  // namespace toroid
