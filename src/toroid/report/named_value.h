// A number with a name, and how a non-finite one is written in JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace toroid {

/// One metric: {"loss", 0.31}, {"validation.top1", 0.92}.
struct NamedValue {
  std::string name;
  double value = 0;
};

/// In the order in which they are to be shown.
using NamedValues = std::vector<NamedValue>;

/// JSON has no NaN and no infinities; files of this project hold them as these strings, which
/// Python's float() and JavaScript's Number() read: "NaN", "Infinity", "-Infinity".
/// `value` is not finite.
std::string_view non_finite_name(double value);
/// The number of such a string, or nothing for any other string.
std::optional<double> non_finite_value(std::string_view name);

}  // namespace toroid
