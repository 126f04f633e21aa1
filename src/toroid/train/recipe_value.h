// Recipe values as read from TOML, without TOML's own types.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "toroid/data/augmentation.h"

namespace toroid {

/// A table in a list: what it names, with parameters.
struct RecipeTable {
  std::string name;
  std::vector<std::pair<std::string, ParameterValue>> parameters;
  friend bool operator==(const RecipeTable&, const RecipeTable&) = default;
};

/// A map is a table of numbers. An empty list is one of strings; a list with a table in it is one
/// of tables, where a string is a name without parameters.
using RecipeValue =
    std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>,
                 std::vector<double>, std::map<std::string, double>, std::vector<RecipeTable>>;

struct RecipeEntry {
  std::string key;  ///< dotted: "train.epochs"
  RecipeValue value;
  std::string origin;  ///< "fashion.toml:12" or "--set": for messages
};

/// All leaves of a TOML document, in the order of the text; those of a table of numbers come one by
/// one ("optimizer.multipliers.head/*"). Error with file and line on a syntax
/// error, or a value that no recipe key can take (dates, tables below the sections).
std::vector<RecipeEntry> parse_toml(const std::string& text, const std::string& name);

/// "key=value": the value as TOML, or as a plain string where it is none ("model.name=resnet8"). A
/// part of the key may stand in quotes: "optimizer.multipliers.'head/*'=10".
RecipeEntry parse_assignment(const std::string& assignment);

/// The value as TOML; doubles round-trip.
std::string print_toml(const RecipeValue& value);

}  // namespace toroid
