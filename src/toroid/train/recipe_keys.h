// The table of recipe keys: one row a key, from which reading, printing, comparing and the
// reference page all follow.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "toroid/train/recipe.h"
#include "toroid/train/recipe_value.h"

namespace toroid {

struct RecipeKey {
  std::string name;         ///< "train.epochs"
  std::string type;         ///< "integer", "number", "string", "boolean", "list of integers", ...
  std::string range;        ///< "(0, 1]", "f32 | f64", or ""
  std::string description;  ///< one sentence for the reference
  bool is_path = false;     ///< relative to the recipe's folder
  bool is_pattern = false;  ///< a path in which * ? [ match; those of the folder before it do not
  bool is_table = false;    ///< of numbers: "<name>.<item>" sets one
  bool neutral = false;     ///< does not change a run's result
  /// Sets the key; throws Error with what was expected ("expected a number in [0, 1), got -1").
  std::function<void(Recipe&, const RecipeValue&)> set;
  std::function<RecipeValue(const Recipe&)> get;

  /// "optimizer.multipliers.head/*" is an item of "optimizer.multipliers".
  bool has_item(const std::string& key) const {
    return is_table && key.starts_with(name + ".") && key.size() > name.size() + 1;
  }
};

/// All keys, by section in the order of the reference.
const std::vector<RecipeKey>& recipe_keys();

}  // namespace toroid
