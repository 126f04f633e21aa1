#include "toroid/base/shape.h"

#include <fmt/format.h>

namespace toroid {

std::int64_t Shape::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t dim : dims_) product *= dim;
  return product;
}

std::string Shape::str() const {
  return fmt::format("[{}]", fmt::join(dims_, ","));
}

}  // namespace toroid
