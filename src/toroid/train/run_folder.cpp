#include "toroid/train/run_folder.h"

#include <nlohmann/json.hpp>

#include "toroid/base/error.h"
#include "toroid/base/file.h"
#include "toroid/train/precision.h"

namespace toroid {
namespace {

using Json = nlohmann::json;

ModelCard read_model_card(const std::filesystem::path& path) {
  try {
    const Json json = Json::parse(read_file(path));
    ModelCard card{.class_names = json.at("classes").get<std::vector<std::string>>(),
                   .channels = json.at("channels").get<int>(),
                   .image_size = json.at("image_size").get<int>()};
    if ((card.channels != 1 && card.channels != 3) || card.image_size < 1) {
      fail("{}: pictures of {} channels and {} pixels cannot be; copy the run again", path.string(),
           card.channels, card.image_size);
    }
    return card;
  } catch (const Json::exception& error) {
    fail("{}: not a run's model.json: {}", path.string(), error.what());
  }
}

}  // namespace

void write_model_card(const std::filesystem::path& run_folder, const ModelCard& card) {
  const Json json = {
      {"classes", card.class_names}, {"channels", card.channels}, {"image_size", card.image_size}};
  write_file(run_folder / "model.json", json.dump(2) + "\n");
}

std::string Run::class_name(std::int64_t label) const {
  const auto index = static_cast<std::size_t>(label);
  return index < card.class_names.size() ? card.class_names[index] : std::to_string(label);
}

StepOptions Run::step_options(std::int64_t batch) const {
  StepOptions options{.model = recipe.model.name,
                      .classes = recipe.model.classes,
                      .head = recipe.model.head,
                      .image_height = card.image_size,
                      .image_width = card.image_size,
                      .channels = card.channels,
                      .global_batch = batch,
                      .batch_norm_batch = batch,
                      .optimizer = recipe.optimizer,
                      .ema = recipe.model.ema};
  set_precision(options, recipe.model.precision);
  return options;
}

std::unique_ptr<RunLock> claim_run_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::exists(folder / "recipe.toml", error) &&
      !std::filesystem::exists(folder / "model.json", error)) {
    fail(
        "{}: holds a recipe.toml and is no run folder; give another --out, so that the file is not "
        "replaced",
        folder.string());
  }
  std::filesystem::create_directories(folder, error);
  if (error) fail("{}: cannot create the run folder: {}", folder.string(), error.message());
  auto lock = std::make_unique<RunLock>(folder);
  for (const char* name : {"recipe.toml", "model.json", "metrics.jsonl", "summary.json"}) {
    remove_abandoned(folder / name);
  }
  return lock;
}

Run open_run(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) {
    fail("{}: no such folder; expected a run folder as `toroid train --out` makes it",
         folder.string());
  }
  for (const char* name : {"recipe.toml", "model.json"}) {
    if (std::filesystem::exists(folder / name)) continue;
    fail("{}: no {} in it; expected a run folder as `toroid train --out` makes it", folder.string(),
         name);
  }
  const auto recipe_path = folder / "recipe.toml";
  Run run{.folder = folder,
          .recipe = parse_recipe(read_file(recipe_path), recipe_path.string()),
          .card = read_model_card(folder / "model.json")};
  auto newest = load_newest(folder);
  if (!newest)
    fail("{}: has no checkpoint yet; let `toroid train` reach its first", folder.string());
  run.checkpoint = std::move(*newest);
  return run;
}

}  // namespace toroid
