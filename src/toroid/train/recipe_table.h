// What the table of recipe keys is made with: reading fields, ranges, choices.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "toroid/base/error.h"
#include "toroid/train/recipe_augment.h"
#include "toroid/train/recipe_keys.h"

namespace toroid {

/// Closed interval, with open ends where `above` and `below` say so. Every upper end is far above
/// what makes sense and far below what overflows an int, an i32 scalar of the graph or f32.
struct Range {
  double low = 0, high = 0;
  bool above = false;  ///< the lower end itself is out
  bool below = false;  ///< the upper end itself is out

  bool contains(double x) const {
    return (above ? x > low : x >= low) && (below ? x < high : x <= high);
  }
  std::string text() const;  ///< "[0, 1)"
};

/// Of the widths of dense layers: above what any has, and far below where a double skips integers.
constexpr Range kUnits{.low = 1, .high = 1 << 24};

/// How each type of field is read from a value; Error saying what was expected.
template <class T>
T read(const RecipeValue& value);
template <>
double read<double>(const RecipeValue& value);
template <>
std::int64_t read<std::int64_t>(const RecipeValue& value);
template <>
std::uint64_t read<std::uint64_t>(const RecipeValue& value);
template <>
bool read<bool>(const RecipeValue& value);
template <>
std::string read<std::string>(const RecipeValue& value);
template <>
std::vector<std::string> read<std::vector<std::string>>(const RecipeValue& value);
template <>
std::vector<Augmentation> read<std::vector<Augmentation>>(const RecipeValue& value);
template <>
std::vector<double> read<std::vector<double>>(const RecipeValue& value);
template <>
std::map<std::string, double> read<std::map<std::string, double>>(const RecipeValue& value);
template <>
std::vector<std::int64_t> read<std::vector<std::int64_t>>(const RecipeValue& value);

/// "number", "list of strings", ... for the reference.
template <class T>
std::string type_name() {
  if constexpr (std::is_same_v<T, bool>) return "boolean";
  if constexpr (std::is_same_v<T, double>) return "number";
  if constexpr (std::is_same_v<T, std::string>) return "string";
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return "list of strings";
  if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) return "list of integers";
  if constexpr (std::is_same_v<T, std::vector<double>>) return "list of numbers";
  if constexpr (std::is_same_v<T, std::map<std::string, double>>) return "table of numbers";
  if constexpr (std::is_same_v<T, std::vector<Augmentation>>) return "list of names or tables";
  return "integer";
}

template <class T>
RecipeValue to_value(const T& field) {
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    return static_cast<std::int64_t>(field);
  } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
    return std::vector<double>(field.begin(), field.end());
  } else if constexpr (std::is_same_v<T, std::vector<Augmentation>>) {
    return augmentation_value(field);
  } else {
    return field;
  }
}

class Table {
 public:
  explicit Table(std::vector<RecipeKey>& keys) : keys_(keys) {}

  // `field` is a function from a Recipe (const or not) to the field's reference.
  template <class F>
  RecipeKey& add(std::string name, F field, std::string description) {
    using T = std::decay_t<decltype(field(std::declval<Recipe&>()))>;
    RecipeKey key;
    key.name = std::move(name);
    key.type = type_name<T>();
    key.description = std::move(description);
    key.set = [field](Recipe& recipe, const RecipeValue& value) { field(recipe) = read<T>(value); };
    key.get = [field](const Recipe& recipe) {
      return to_value<T>(field(const_cast<Recipe&>(recipe)));
    };
    keys_.push_back(std::move(key));
    return keys_.back();
  }

  template <class F>
  void number(std::string name, F field, Range range, std::string description) {
    using T = std::decay_t<decltype(field(std::declval<Recipe&>()))>;
    RecipeKey& key = add(std::move(name), field, std::move(description));
    key.range = range.text();
    const auto set = key.set;
    key.set = [set, range, type = key.type](Recipe& recipe, const RecipeValue& value) {
      if (!range.contains(static_cast<double>(read<T>(value)))) {
        fail_usage("expected {} {} in {}, got {}", type == "integer" ? "an" : "a", type,
                   range.text(), print_toml(value));
      }
      set(recipe, value);
    };
  }

  // A list or table of numbers, each of them in the range.
  template <class F>
  void numbers(std::string name, F field, Range range, std::string description) {
    using T = std::decay_t<decltype(field(std::declval<Recipe&>()))>;
    RecipeKey& key = add(std::move(name), field, std::move(description));
    key.range = range.text();
    key.is_table = std::is_same_v<T, std::map<std::string, double>>;
    key.set = [set = key.set, range](Recipe& recipe, const RecipeValue& value) {
      for (const auto& item : read<T>(value)) {
        double x = 0;
        if constexpr (std::is_same_v<T, std::vector<double>>) x = item;
        if constexpr (!std::is_same_v<T, std::vector<double>>) x = item.second;
        if (!range.contains(x)) {
          fail_usage("expected numbers in {}, got {}", range.text(), print_toml(value));
        }
      }
      set(recipe, value);
    };
  }

  template <class F>
  void choice(std::string name, F field, std::vector<std::string> choices,
              std::string description) {
    RecipeKey& key = add(std::move(name), field, std::move(description));
    key.range = fmt::format("{}", fmt::join(choices, " \\| "));
    const auto set = key.set;
    key.set = [set, choices](Recipe& recipe, const RecipeValue& value) {
      if (std::find(choices.begin(), choices.end(), read<std::string>(value)) == choices.end()) {
        fail_usage("expected one of {}, got {}", fmt::join(choices, ", "), print_toml(value));
      }
      set(recipe, value);
    };
  }

  // Of the key added last: `test` throws Error when the recipe now holds no possible value.
  void check(void (*test)(const Recipe&)) {
    RecipeKey& key = keys_.back();
    key.set = [set = key.set, test](Recipe& recipe, const RecipeValue& value) {
      set(recipe, value);
      test(recipe);
    };
  }

  // Marks the key added last: it does not change a run's result.
  void neutral() {
    keys_.back().neutral = true;
    keys_.back().description += " Does not change results.";
  }

  template <class F>
  void pattern(std::string name, F field, std::string description) {
    path(std::move(name), field, std::move(description));
    keys_.back().is_pattern = true;
  }

  template <class F>
  void path(std::string name, F field, std::string description) {
    add(std::move(name), field, std::move(description)).is_path = true;
  }

 private:
  std::vector<RecipeKey>& keys_;
};

}  // namespace toroid
