// Answers to a name that does not exist: the nearest one that does.
#pragma once

#include <span>
#include <string_view>

namespace toroid {

/// The candidate with the fewest insertions, deletions, replacements and swaps of neighbours
/// (optimal string alignment); "" when there is none, or none in which at least half of the name
/// stays.
std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates);

/// Throws Error (exit status 2): `unknown model "resnt8": did you mean "resnet8"? (known: ...)`.
[[noreturn]] void fail_unknown(std::string_view kind, std::string_view name,
                               std::span<const std::string_view> known);

}  // namespace toroid
