// Printing of op attributes: an op lists its attributes once, and this turns them into text.
#pragma once

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "toroid/base/dtype.h"
#include "toroid/base/shape.h"

namespace toroid {

/// Collects "name=value" pairs separated by blanks.
class AttributePrinter {
 public:
  template <class T>
  void operator()(std::string_view name, const T& value) {
    if (!text_.empty()) text_ += ' ';
    text_ += fmt::format("{}={}", name, print(value));
  }
  std::string text() && { return std::move(text_); }

 private:
  static std::string print(bool value) { return value ? "true" : "false"; }
  static std::string print(DType value) { return std::string(name_of(value)); }
  static std::string print(const Shape& value) { return value.str(); }
  static std::string print(const std::string& value) { return value; }
  static std::string print(std::string_view value) { return std::string(value); }
  template <class T>
  requires std::is_arithmetic_v<T>
  static std::string print(T value) { return fmt::format("{}", value); }
  template <class T>
  static std::string print(const std::vector<T>& value) {
    return fmt::format("[{}]", fmt::join(value, ","));
  }
  template <class T, std::size_t N>
  static std::string print(const std::array<T, N>& value) {
    return fmt::format("[{}]", fmt::join(value, ","));
  }

  std::string text_;
};

}  // namespace toroid
