#include "toroid/train/recipe_table.h"

#include <cmath>

namespace toroid {

std::string Range::text() const {
  return fmt::format("{}{:.12g}, {:.12g}{}", above ? "(" : "[", low, high, below ? ")" : "]");
}

template <>
double read<double>(const RecipeValue& value) {
  if (const auto* real = std::get_if<double>(&value); real && std::isfinite(*real)) return *real;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  fail_usage("expected a number, got {}", print_toml(value));
}
template <>
std::int64_t read<std::int64_t>(const RecipeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  fail_usage("expected an integer, got {}", print_toml(value));
}
template <>
std::uint64_t read<std::uint64_t>(const RecipeValue& value) {
  return static_cast<std::uint64_t>(read<std::int64_t>(value));
}
template <>
bool read<bool>(const RecipeValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  fail_usage("expected true or false, got {}", print_toml(value));
}
template <>
std::string read<std::string>(const RecipeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  fail_usage("expected a string, got {}", print_toml(value));
}
template <>
std::vector<std::string> read<std::vector<std::string>>(const RecipeValue& value) {
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return *list;
  fail_usage("expected a list of strings, got {}", print_toml(value));
}
template <>
std::vector<Augmentation> read<std::vector<Augmentation>>(const RecipeValue& value) {
  return augmentations_of(value);
}
template <>
std::vector<double> read<std::vector<double>>(const RecipeValue& value) {
  if (const auto* numbers = std::get_if<std::vector<double>>(&value)) return *numbers;
  if (const auto* empty = std::get_if<std::vector<std::string>>(&value); empty && empty->empty()) {
    return {};
  }
  fail_usage("expected a list of numbers, got {}", print_toml(value));
}
template <>
std::map<std::string, double> read<std::map<std::string, double>>(const RecipeValue& value) {
  if (const auto* table = std::get_if<std::map<std::string, double>>(&value)) return *table;
  fail_usage("expected a table of numbers, got {}", print_toml(value));
}
template <>
std::vector<std::int64_t> read<std::vector<std::int64_t>>(const RecipeValue& value) {
  std::vector<std::int64_t> integers;
  if (const auto* empty = std::get_if<std::vector<std::string>>(&value); empty && empty->empty()) {
    return integers;
  }
  const auto* numbers = std::get_if<std::vector<double>>(&value);
  if (!numbers) fail_usage("expected a list of integers, got {}", print_toml(value));
  for (const double x : *numbers) {
    if (!kUnits.contains(x) || x != std::floor(x)) {
      fail_usage("expected integers in {}, got {}", kUnits.text(), print_toml(value));
    }
    integers.push_back(static_cast<std::int64_t>(x));
  }
  return integers;
}

}  // namespace toroid
