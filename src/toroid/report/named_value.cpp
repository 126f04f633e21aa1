#include "toroid/report/named_value.h"

#include <cmath>
#include <limits>

namespace toroid {

std::string_view non_finite_name(double value) {
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

std::optional<double> non_finite_value(std::string_view name) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (name == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (name == "Infinity") return kInfinity;
  if (name == "-Infinity") return -kInfinity;
  return std::nullopt;
}

}  // namespace toroid
