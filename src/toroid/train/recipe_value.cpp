#include "toroid/train/recipe_value.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <sstream>

#include "toroid/base/error.h"

namespace toroid {
namespace {

std::string origin_of(const std::string& name, const toml::source_region& source) {
  return fmt::format("{}:{}", name, source.begin.line);
}

ParameterValue parameter_of(const toml::node& node) {
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* real = node.as_floating_point()) return real->get();
  std::vector<double> numbers;
  if (const auto* array = node.as_array()) {
    for (const toml::node& item : *array) {
      if (const auto number = item.value<double>()) numbers.push_back(*number);
    }
    if (numbers.size() == array->size()) return numbers;
  }
  fail_usage("expected a number or a list of numbers");
}

RecipeTable table_of(const toml::node& node) {
  if (const auto* name = node.as_string()) return {name->get(), {}};
  const auto* table = node.as_table();
  const auto name = table != nullptr ? (*table)["name"].value_exact<std::string>() : std::nullopt;
  if (!name) fail_usage("expected a name, or a table with a name");
  RecipeTable result{*name, {}};
  for (const auto& [key, value] : *table) {
    if (key == "name") continue;
    try {
      result.parameters.emplace_back(std::string(key.str()), parameter_of(value));
    } catch (const Error& error) {
      fail_usage("{}: {}: {}", *name, key.str(), error.what());
    }
  }
  return result;
}

RecipeValue tables_of(const toml::array& array, const std::string& key, const std::string& origin) {
  std::vector<RecipeTable> tables;
  try {
    for (const toml::node& item : array) tables.push_back(table_of(item));
  } catch (const Error& error) {
    fail_usage("{}: {}: {}", origin, key, error.what());
  }
  return tables;
}

RecipeValue list_of(const toml::array& array, const std::string& key, const std::string& origin) {
  std::vector<std::string> strings;
  std::vector<double> numbers;
  for (const toml::node& item : array) {
    if (item.is_table()) return tables_of(array, key, origin);
    if (const auto text = item.value_exact<std::string>()) strings.push_back(*text);
    if (item.is_number()) numbers.push_back(*item.value<double>());
  }
  if (strings.size() == array.size()) return strings;
  if (numbers.size() == array.size()) return numbers;
  fail_usage("{}: {}: expected a list of strings or a list of numbers", origin, key);
}

RecipeValue numbers_of(const toml::table& table, const std::string& key,
                       const std::string& origin) {
  std::map<std::string, double> numbers;
  for (const auto& [part, node] : table) {
    if (!node.is_number()) fail_usage("{}: {}: expected a table of numbers", origin, key);
    numbers[std::string(part.str())] = *node.value<double>();
  }
  return numbers;
}

RecipeValue value_of(const toml::node& node, const std::string& key, const std::string& origin) {
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* real = node.as_floating_point()) return real->get();
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* array = node.as_array()) return list_of(*array, key, origin);
  if (const auto* table = node.as_table()) return numbers_of(*table, key, origin);
  fail_usage("{}: {}: a date or time is no value for a recipe", origin, key);
}

void collect(const toml::table& table, const std::string& prefix, const std::string& name,
             std::vector<RecipeEntry>& entries) {
  for (const auto& [part, node] : table) {
    const std::string key = prefix + std::string(part.str());
    if (const auto* inner = node.as_table()) {
      collect(*inner, key + ".", name, entries);
    } else {
      const std::string origin = origin_of(name, node.source());
      entries.push_back({key, value_of(node, key, origin), origin});
    }
  }
}

toml::table parse(const std::string& text, const std::string& name) {
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    fail_usage("{}: not valid TOML: {}", origin_of(name, error.source()), error.description());
  }
}

/// The shortest text that reads back to the same bits, always with a point or exponent.
std::string print(double number) {
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string print(const std::map<std::string, double>& numbers) {
  std::ostringstream out;
  for (const auto& [key, number] : numbers) {
    out << (out.tellp() == 0 ? "" : ", ") << toml::value<std::string>(key) << " = "
        << print(number);
  }
  return numbers.empty() ? "{}" : fmt::format("{{ {} }}", out.str());
}

std::string print(const RecipeTable& table) {
  std::string text = fmt::format("name = '{}'", table.name);
  for (const auto& [key, value] : table.parameters) {
    text += fmt::format(", {} = ", key);
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      text += std::to_string(*integer);
    } else if (const auto* number = std::get_if<double>(&value)) {
      text += print(*number);
    } else {
      const auto& numbers = std::get<std::vector<double>>(value);
      text += fmt::format("[{}]", fmt::join(numbers, ", "));
    }
  }
  return table.parameters.empty() ? fmt::format("'{}'", table.name) : fmt::format("{{ {} }}", text);
}

std::string print(const std::vector<RecipeTable>& tables) {
  std::string text;
  for (const RecipeTable& table : tables) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", print(table));
  }
  return text.empty() ? "[]" : fmt::format("[ {} ]", text);
}

// "a.'b/*'" -> "a.b/*": shells take the quotes away anyway, where they are not quoted themselves.
std::string without_quotes(std::string key) {
  const auto dot = key.find_first_of("'\"");
  if (dot == std::string::npos || dot + 1 >= key.size() || key.back() != key[dot]) return key;
  key.pop_back();
  return key.erase(dot, 1);
}

}  // namespace

std::vector<RecipeEntry> parse_toml(const std::string& text, const std::string& name) {
  std::vector<RecipeEntry> entries;
  collect(parse(text, name), "", name, entries);
  return entries;
}

RecipeEntry parse_assignment(const std::string& assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    fail_usage("--set {}: expected KEY=VALUE, for example --set train.epochs=3", assignment);
  }
  const std::string key = without_quotes(assignment.substr(0, equals));
  const std::string text = assignment.substr(equals + 1);
  try {
    const toml::table table = toml::parse("value = " + text);
    if (table.size() > 1)
      fail_usage("--set {}: sets more than one key; give each a --set of its own", key);
    return {key, value_of(*table.get("value"), key, "--set"), "--set"};
  } catch (const toml::parse_error&) {
    return {key, text, "--set"};
  }
}

std::string print_toml(const RecipeValue& value) {
  std::ostringstream out;
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          toml::array array;
          for (const std::string& item : v) array.push_back(item);
          out << toml::node_view<toml::node>(array);
        } else if constexpr (std::is_same_v<T, std::vector<double>>) {
          out << fmt::format("[{}]", fmt::join(v, ", "));
        } else if constexpr (std::is_same_v<T, double> ||
                             std::is_same_v<T, std::map<std::string, double>> ||
                             std::is_same_v<T, std::vector<RecipeTable>>) {
          out << print(v);
        } else {
          const toml::value<T> node(v);
          out << node;
        }
      },
      value);
  return out.str();
}

}  // namespace toroid
