#include "toroid/train/trainer.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "toroid/base/log.h"
#include "toroid/cli/backend_flags.h"
#include "toroid/cli/commands.h"
#include "toroid/comm/launch.h"
#include "toroid/comm/mpi.h"

namespace toroid::cli {
namespace {

struct Flags {
  std::filesystem::path recipe;
  std::vector<std::string> assignments;
  std::filesystem::path init;
  int workers = 0;
  TrainOptions train;
};

// The same command without --workers, for each rank.
std::vector<std::string> rank_command(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{"/proc/self/exe"};
  command[0] = std::filesystem::read_symlink(command[0]).string();
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "--workers") {
      ++i;
    } else if (!arguments[i].starts_with("--workers=")) {
      command.push_back(arguments[i]);
    }
  }
  return command;
}

// What is wrong for every rank is said by one: the first to report it ends the others. A lower rank
// speaks first; one that fails alone is late by this much.
void await_lower_ranks(int rank) {
  std::this_thread::sleep_for(std::chrono::milliseconds(200) * std::min(rank, 10));
}

int run(Flags flags, const std::vector<std::string>& arguments) {
  Recipe recipe = load_recipe(flags.recipe, flags.assignments);
  if (!flags.init.empty()) recipe.model.init = flags.init.string();
  if (flags.workers > 1) {
    return launch_workers({.workers = flags.workers, .command = rank_command(arguments)});
  }
  const auto communicator = world_communicator();
  if (communicator->size() > 1) {
    log::set_prefix(fmt::format("rank {}: ", communicator->rank()));
    if (communicator->rank() > 0) log::set_minimum(log::Level::kWarning);
  }
  if (flags.train.run_folder.empty()) {
    flags.train.run_folder = std::filesystem::path("runs") / flags.recipe.stem();
  }
  try {
    train(recipe, flags.train, *communicator);
  } catch (...) {
    await_lower_ranks(communicator->rank());
    throw;
  }
  return 0;
}

}  // namespace

void add_train(CLI::App& app, Context& context) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("train", "Train as a recipe says, or go on with a run");
  command->footer(
      "example: toroid train recipes/fashion-mnist.toml --set train.epochs=1 --out run");
  command->add_option("recipe", flags->recipe, "recipe (TOML)")->required();
  command->add_option("--set", flags->assignments, "KEY=VALUE over the recipe; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--out", flags->train.run_folder, "run folder (default: runs/<recipe>)");
  command->add_option("--init", flags->init,
                      "start from the weights of a run, checkpoint or safetensors file");
  command->add_option("--workers", flags->workers, "processes to start on this machine (mpirun)")
      ->check(CLI::Range(1, 4096));
  command->add_flag("--fresh", flags->train.fresh,
                    "insist on a new run: refuse a run folder that holds anything");
  add_backend_flags(*command, flags->train.backend);
  command->callback([flags, &context] {
    context.action = [flags, &context] { return run(*flags, context.arguments); };
  });
}

}  // namespace toroid::cli
