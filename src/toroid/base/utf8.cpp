#include "toroid/base/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace toroid {
namespace {

// RFC 3629, section 4: how many bytes follow a first byte, and the range of the second.
struct Form {
  unsigned char first_low, first_high;
  std::size_t following;
  unsigned char second_low, second_high;
};
constexpr Form kForms[] = {
    {0x00, 0x7f, 0, 0, 0},       {0xc2, 0xdf, 1, 0x80, 0xbf}, {0xe0, 0xe0, 2, 0xa0, 0xbf},
    {0xe1, 0xec, 2, 0x80, 0xbf}, {0xed, 0xed, 2, 0x80, 0x9f}, {0xee, 0xef, 2, 0x80, 0xbf},
    {0xf0, 0xf0, 3, 0x90, 0xbf}, {0xf1, 0xf3, 3, 0x80, 0xbf}, {0xf4, 0xf4, 3, 0x80, 0x8f},
};

bool within(char c, unsigned char low, unsigned char high) {
  const auto byte = static_cast<unsigned char>(c);
  return low <= byte && byte <= high;
}

// The bytes of the character that the text begins with; 0 when it is malformed.
std::size_t first_character(std::string_view text) {
  for (const Form& form : kForms) {
    if (!within(text[0], form.first_low, form.first_high)) continue;
    if (text.size() <= form.following) return 0;
    for (std::size_t i = 1; i <= form.following; ++i) {
      const bool second = i == 1;
      if (!within(text[i], second ? form.second_low : 0x80, second ? form.second_high : 0xbf)) {
        return 0;
      }
    }
    return 1 + form.following;
  }
  return 0;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = first_character(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t bytes = first_character(text);
    if (bytes == 0) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (within(text[0], 0, 0x1f) || text[0] == 0x7f) {
      result += ' ';
    } else {
      result += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return result;
}

}  // namespace toroid
