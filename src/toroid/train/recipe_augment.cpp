#include "toroid/train/recipe_augment.h"

#include "toroid/base/error.h"

namespace toroid {

std::vector<Augmentation> augmentations_of(const RecipeValue& value) {
  std::vector<Augmentation> augmentations;
  if (const auto* names = std::get_if<std::vector<std::string>>(&value)) {
    for (const std::string& name : *names) augmentations.push_back({.name = name});
  } else if (const auto* tables = std::get_if<std::vector<RecipeTable>>(&value)) {
    for (const RecipeTable& table : *tables) {
      Augmentation one{.name = table.name};
      for (const auto& [name, parameter] : table.parameters) set_parameter(one, name, parameter);
      augmentations.push_back(std::move(one));
    }
  } else {
    fail_usage("expected a list of names or tables, got {}", print_toml(value));
  }
  check_augmentations(augmentations);
  return augmentations;
}

RecipeValue augmentation_value(const std::vector<Augmentation>& augmentations) {
  std::vector<RecipeTable> tables;
  for (const Augmentation& one : augmentations) tables.push_back({one.name, parameters(one)});
  return tables;
}

}  // namespace toroid
