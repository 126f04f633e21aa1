// data.augment between a recipe's values and what they mean.
#pragma once

#include <vector>

#include "toroid/data/augmentation.h"
#include "toroid/train/recipe_value.h"

namespace toroid {

/// From a list of names and of tables with a name and parameters. Error (wrong usage) saying what
/// was expected.
std::vector<Augmentation> augmentations_of(const RecipeValue& value);

/// Every transformation with all of its parameters.
RecipeValue augmentation_value(const std::vector<Augmentation>& augmentations);

}  // namespace toroid
