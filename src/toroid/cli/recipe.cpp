#include "toroid/train/recipe.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <set>

#include "toroid/base/error.h"
#include "toroid/cli/commands.h"
#include "toroid/data/dataset.h"
#include "toroid/models/batch_norm_groups.h"

namespace toroid::cli {
namespace {

struct Flags {
  std::filesystem::path recipe;
  std::vector<std::string> assignments;
  int replicas = 1;
};

// The learning rate at the start of each epoch and where it turns.
void print_schedule(const Recipe& recipe, std::int64_t examples, int replicas) {
  const std::int64_t global_batch = recipe.global_batch(replicas);
  const ScheduleSpan span = recipe.span(examples, global_batch);
  const Schedule schedule(recipe.schedule, span);
  fmt::print("\n# global batch {}: {} on each of {} replica{}\n", global_batch,
             replica_batch(global_batch, replicas), replicas, replicas == 1 ? "" : "s");
  if (recipe.train.accumulate > 1) {
    fmt::print("# in {} micro-batches of up to {}\n", recipe.train.accumulate,
               replica_batch(global_batch, static_cast<int>(recipe.train.accumulate)));
  }
  fmt::print("# {} examples, {} steps an epoch, {} steps in all\n# {:>9} {:>9}  learning rate\n",
             examples, span.steps_per_epoch, span.total_steps, "step", "epoch");
  const auto turning = schedule.turning_steps();
  std::set<std::int64_t> steps(turning.begin(), turning.end());
  const auto every = std::max<std::int64_t>(1, static_cast<std::int64_t>(span.steps_per_epoch));
  for (std::int64_t step = 0; step < span.total_steps; step += every) steps.insert(step);
  for (const std::int64_t step : steps) {
    fmt::print("# {:>9} {:>9.2f}  {}\n", step, static_cast<double>(step) / span.steps_per_epoch,
               schedule.rate(step));
  }
}

int check(const Flags& flags) {
  load_recipe(flags.recipe, flags.assignments);
  fmt::print("{}: fine\n", flags.recipe.string());
  return 0;
}

int show(const Flags& flags) {
  const Recipe recipe = load_recipe(flags.recipe, flags.assignments);
  const std::int64_t examples =
      recipe.train.examples > 0 ? recipe.train.examples : Dataset::open(recipe.data.train).size();
  fmt::print("{}", to_toml(recipe));
  print_schedule(recipe, examples, flags.replicas);
  return 0;
}

void add_form(CLI::App& command, Context& context, const char* name, const char* description,
              int (*run)(const Flags&)) {
  auto flags = std::make_shared<Flags>();
  CLI::App* form = command.add_subcommand(name, description);
  form->footer(fmt::format("example: toroid recipe {} recipes/fashion-mnist.toml", name));
  form->add_option("recipe", flags->recipe, "recipe (TOML)")->required();
  form->add_option("--set", flags->assignments, "KEY=VALUE over the recipe; may be repeated")
      ->allow_extra_args(false);
  form->add_option("--replicas", flags->replicas, "replicas that batch_per_worker counts for")
      ->check(CLI::Range(1, 1 << 20));
  form->callback([flags, run, &context] { context.action = [flags, run] { return run(*flags); }; });
}

}  // namespace

void add_recipe(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("recipe", "Check a recipe, or show every key's value");
  command->require_subcommand(1);
  add_form(*command, context, "check", "Reads a recipe strictly", check);
  add_form(*command, context, "show", "Every key with its value, and the learning rate by epoch",
           show);
  CLI::App* reference =
      command->add_subcommand("reference", "The reference of all keys, as Markdown");
  reference->footer("example: toroid recipe reference > docs/recipes.md");
  reference->callback([&context] {
    context.action = [] {
      fmt::print("{}", recipe_reference());
      return 0;
    };
  });
}

}  // namespace toroid::cli
