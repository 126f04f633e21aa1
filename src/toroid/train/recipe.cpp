#include "toroid/train/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "toroid/base/error.h"
#include "toroid/base/file.h"
#include "toroid/base/nearest.h"
#include "toroid/base/utf8.h"
#include "toroid/data/loader.h"
#include "toroid/train/recipe_keys.h"

namespace toroid {
namespace {

const RecipeKey& find_key(const RecipeEntry& entry) {
  std::vector<std::string_view> names;
  for (const RecipeKey& key : recipe_keys()) {
    if (key.name == entry.key || key.has_item(entry.key)) return key;
    names.push_back(key.name);
  }
  const std::string_view guess = nearest(entry.key, names);
  if (guess.empty()) {
    fail_usage("{}: unknown key \"{}\"; docs/recipes.md lists all keys", entry.origin, entry.key);
  }
  fail_usage("{}: unknown key \"{}\": did you mean \"{}\"?", entry.origin, entry.key, guess);
}

// A path or pattern as seen from where its folder is seen; other values as they are.
std::string in_folder(const RecipeKey& key, const std::string& text,
                      const std::filesystem::path& folder) {
  if (!key.is_path || text.empty()) return text;
  std::string prefix;
  for (const char c : folder.string()) {
    if (key.is_pattern && std::string_view("*?[\\").find(c) != std::string_view::npos)
      prefix += '\\';
    prefix += c;
  }
  return (std::filesystem::path(prefix) / text).lexically_normal().string();
}

// The table of numbers with one item more, or with another value for it.
RecipeValue with_item(const RecipeKey& key, const Recipe& recipe, const RecipeEntry& entry) {
  auto table = std::get<std::map<std::string, double>>(key.get(recipe));
  double& item = table[entry.key.substr(key.name.size() + 1)];
  if (const auto* integer = std::get_if<std::int64_t>(&entry.value)) {
    item = static_cast<double>(*integer);
  } else if (const auto* real = std::get_if<double>(&entry.value)) {
    item = *real;
  } else {
    fail_usage("{}: {}: expected a number, got {}", entry.origin, entry.key,
               print_toml(entry.value));
  }
  return table;
}

void apply(Recipe& recipe, const RecipeEntry& entry, const std::filesystem::path& folder) {
  const RecipeKey& key = find_key(entry);
  RecipeValue value = entry.value;
  if (key.has_item(entry.key)) value = with_item(key, recipe, entry);
  if (auto* text = std::get_if<std::string>(&value)) *text = in_folder(key, *text, folder);
  try {
    key.set(recipe, value);
  } catch (const Error& error) {
    fail_usage("{}: {}: {}", entry.origin, key.name, error.what());
  }
}

void check_required(const Recipe& recipe, const std::string& file) {
  const auto require = [&](bool present, const char* key, const char* example) {
    if (!present) fail_usage("{}: the key {} is missing; for example: {}", file, key, example);
  };
  require(!recipe.model.name.empty(), "model.name", "name = \"resnet8\" under [model]");
  require(!recipe.data.train.empty(), "data.train",
          "train = \"data/train-*.tfrecord\" under [data]");
  require(recipe.train.epochs > 0 || recipe.train.steps > 0, "train.epochs",
          "epochs = 10 under [train] (or steps)");
  if (recipe.train.epochs > 0 && recipe.train.steps > 0) {
    fail_usage("{}: give train.epochs or train.steps, not both", file);
  }
  if (recipe.data.evaluate == "resize" && recipe.data.crop_fraction != 1) {
    fail_usage("{}: data.crop_fraction = {} needs data.evaluate = \"centre_crop\", not resize",
               file, recipe.data.crop_fraction);
  }
  if (recipe.data.image_size > 0) {  // else the loader checks, which knows the data's size
    check_sizes(recipe.training_pictures(), static_cast<int>(recipe.data.image_size));
  }
  recipe.global_batch(1);
}

// A key's value with its path made absolute: the same wherever the program was started.
RecipeValue absolute_value(const RecipeKey& key, const Recipe& recipe) {
  RecipeValue value = key.get(recipe);
  if (auto* path = std::get_if<std::string>(&value)) {
    *path = in_folder(key, *path, std::filesystem::current_path());
  }
  return value;
}

}  // namespace

std::int64_t Recipe::global_batch(int replicas) const {
  if ((train.global_batch > 0) == (train.batch_per_worker > 0)) {
    fail_usage("give one of train.global_batch and train.batch_per_worker, not {}",
               train.global_batch > 0 ? "both" : "neither");
  }
  return train.global_batch > 0 ? train.global_batch : train.batch_per_worker * replicas;
}

std::vector<Augmentation> Recipe::training_pictures() const {
  return with_sizing(evaluation_pictures().front(), data.augment);
}

std::vector<Augmentation> Recipe::evaluation_pictures() const {
  return {{.name = data.evaluate, .fraction = data.crop_fraction}};
}

ScheduleSpan Recipe::span(std::int64_t examples, std::int64_t global_batch) const {
  const std::int64_t per_epoch = steps_per_epoch(examples, global_batch);
  std::int64_t total = train.steps;
  if (total == 0) {
    total = std::max<std::int64_t>(1, std::llround(train.epochs * static_cast<double>(per_epoch)));
  }
  if (total > std::numeric_limits<std::int32_t>::max()) {
    fail_usage("train.epochs = {} makes {} steps of {} examples; at most 2^31 - 1 can be counted",
               train.epochs, total, global_batch);
  }
  return {.total_steps = total, .steps_per_epoch = static_cast<double>(per_epoch)};
}

Recipe load_recipe(const std::filesystem::path& file, const std::vector<std::string>& assignments) {
  Recipe recipe;
  for (const RecipeEntry& entry : parse_toml(read_file(file), file.string())) {
    apply(recipe, entry, file.parent_path());
  }
  for (const std::string& assignment : assignments) {
    apply(recipe, parse_assignment(assignment), "");
  }
  check_required(recipe, file.string());
  return recipe;
}

std::string to_toml(const Recipe& recipe) {
  std::string text, section;
  for (const RecipeKey& key : recipe_keys()) {
    const auto dot = key.name.find('.');
    if (key.name.substr(0, dot) != section) {
      section = key.name.substr(0, dot);
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section);
    }
    const RecipeValue value = absolute_value(key, recipe);
    if (const auto* path = std::get_if<std::string>(&value); path && !is_utf8(*path)) {
      fail_usage("{}: the path {} is not UTF-8; rename it", key.name, *path);
    }
    text += fmt::format("{} = {}\n", key.name.substr(dot + 1), print_toml(value));
  }
  return text;
}

Recipe parse_recipe(const std::string& text, const std::string& name) {
  Recipe recipe;
  for (const RecipeEntry& entry : parse_toml(text, name)) apply(recipe, entry, "");
  check_required(recipe, name);
  return recipe;
}

std::vector<std::string> result_changing_keys(const Recipe& a, const Recipe& b) {
  std::vector<std::string> keys;
  for (const RecipeKey& key : recipe_keys()) {
    if (!key.neutral && absolute_value(key, a) != absolute_value(key, b)) keys.push_back(key.name);
  }
  return keys;
}

std::string recipe_reference() {
  std::string text =
      "# Recipe keys\n\n"
      "Generated by `toroid recipe reference` from the table that reads recipes; do not edit.\n";
  std::string section;
  const Recipe defaults;
  for (const RecipeKey& key : recipe_keys()) {
    const auto dot = key.name.find('.');
    if (key.name.substr(0, dot) != section) {
      section = key.name.substr(0, dot);
      text += fmt::format(
          "\n## [{}]\n\n| key | type | range | default | what it does |\n"
          "|---|---|---|---|---|\n",
          section);
    }
    text += fmt::format("| `{}` | {} | {} | `{}` | {} |\n", key.name.substr(dot + 1), key.type,
                        key.range, print_toml(key.get(defaults)), key.description);
  }
  return text;
}

}  // namespace toroid
