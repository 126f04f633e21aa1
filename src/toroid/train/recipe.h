// The recipe: everything that a run's result depends on, in one TOML file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "toroid/data/augmentation.h"
#include "toroid/optim/optimizer.h"
#include "toroid/optim/schedule.h"

namespace toroid {

/// Every key with its default; docs/recipes.md is generated from the table that reads them.
struct Recipe {
  struct Model {
    std::string name;
    std::int64_t classes = 0;
    std::vector<std::int64_t> head;
    std::string precision = "f32";
    bool fast_convolutions = true;
    std::int64_t batch_norm_batch = 0;
    bool zero_init_last_gamma = false;
    std::string init;
    double ema = 0;
  } model;

  struct Data {
    std::string train, validation;
    std::int64_t image_size = 0;
    std::vector<Augmentation> augment;
    std::string evaluate = "centre_crop";
    double crop_fraction = 1;
    std::int64_t threads = 0;
    std::int64_t prefetch = 4;
  } data;

  struct Train {
    double epochs = 0;
    std::int64_t steps = 0;
    std::int64_t global_batch = 0;
    std::int64_t batch_per_worker = 0;
    std::int64_t examples = 0;
    std::uint64_t seed = 1;
    std::int64_t accumulate = 1;
    double label_smoothing = 0;
    double clip_norm = 0;
    std::int64_t evaluate_every = 1;
    std::string on_non_finite = "stop";
    std::int64_t log_every = 50;
  } train;

  OptimizerOptions optimizer;
  ScheduleOptions schedule;

  struct Checkpoint {
    double every_epochs = 1;
    std::int64_t keep = 2;
    std::string best = "validation.top1";
  } checkpoint;

  /// Global batch for a number of replicas; Error unless exactly one of global_batch and
  /// batch_per_worker is given.
  std::int64_t global_batch(int replicas) const;
  /// What makes training pictures of stored ones: data.augment, after what makes evaluation
  /// pictures where none of the list makes a size.
  std::vector<Augmentation> training_pictures() const;
  /// What makes evaluation pictures: data.evaluate with data.crop_fraction.
  std::vector<Augmentation> evaluation_pictures() const;
  /// Steps of the run (Error when the step does not fit 32 bits) and of an epoch for a data set of
  /// that many examples.
  ScheduleSpan span(std::int64_t examples, std::int64_t global_batch) const;
};

/// Reads a recipe and applies `--set` assignments ("train.epochs=3") over it. Unknown keys, wrong
/// types, values out of range and missing keys are Errors (exit status 2) naming file, line and
/// key, and the nearest known key. Paths become relative to the working directory: in the file they
/// are relative to its folder, in an assignment to the working directory already.
Recipe load_recipe(const std::filesystem::path& file, const std::vector<std::string>& assignments);

/// Every key with its value, as TOML that load_recipe reads back; paths absolute.
std::string to_toml(const Recipe& recipe);

/// Reads what to_toml wrote; `name` is named in errors.
Recipe parse_recipe(const std::string& text, const std::string& name);

/// The keys whose values differ and can change a run's result, for refusing to resume another
/// recipe. Where the data lies, threads, logging and saving do not count.
std::vector<std::string> result_changing_keys(const Recipe& a, const Recipe& b);

/// The reference of all keys as a Markdown table a section: docs/recipes.md.
std::string recipe_reference();

}  // namespace toroid
