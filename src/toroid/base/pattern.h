// Name patterns, as recipes use them for variables ("*/bias", "stem/*").
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace toroid {

/// Shell pattern over the whole name: `*` any run of characters, '/' included; `?` any one; `[..]`.
bool matches(const std::string& pattern, const std::string& name);
/// Any of the patterns matches.
bool matches_any(std::span<const std::string> patterns, const std::string& name);

}  // namespace toroid
