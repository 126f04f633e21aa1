#include <CLI/CLI.hpp>
#include <memory>

#include "toroid/backends/xla/stablehlo.h"
#include "toroid/base/file.h"
#include "toroid/cli/commands.h"
#include "toroid/train/setup.h"

namespace toroid::cli {
namespace {

struct Flags {
  std::filesystem::path recipe, output;
  std::vector<std::string> assignments;
  int workers = 1;
  std::string step = "train";
  std::string format = "stablehlo";
};

Graph build(const std::string& step, const StepOptions& options) {
  if (step == "evaluate") return build_evaluate_graph(options);
  if (step == "predict") return build_predict_graph(options);
  if (step == "apply") return build_apply_graph(options);
  if (step.starts_with("accumulate")) {
    return build_accumulate_graph(options, step == "accumulate_masked");
  }
  return build_train_graph(options, step == "train_masked");
}

int run(const Flags& flags) {
  const Recipe recipe = load_recipe(flags.recipe, flags.assignments);
  const Dataset dataset = Dataset::open(recipe.data.train);
  const Graph graph = build(flags.step, step_options(recipe, dataset, flags.workers));
  const std::string text = flags.format == "graph" ? print(graph) : emit_stablehlo(graph);
  if (flags.output.empty()) {
    fmt::print("{}", text);
  } else {
    write_file(flags.output, text);
  }
  return 0;
}

}  // namespace

void add_lower(CLI::App& app, Context& context) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("lower", "A recipe's step as text: StableHLO or the graph");
  command->footer("example: toroid lower recipes/fashion-mnist.toml --format graph | less");
  command->add_option("recipe", flags->recipe, "recipe (TOML)")->required();
  command->add_option("--set", flags->assignments, "KEY=VALUE over the recipe; may be repeated")
      ->allow_extra_args(false);
  command->add_option("-o,--output", flags->output, "file to write (default: standard output)");
  command->add_option("--workers", flags->workers, "replicas")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--step", flags->step,
                   "train, accumulate (both also _masked), apply, evaluate or predict")
      ->check(CLI::IsMember({"train", "train_masked", "accumulate", "accumulate_masked", "apply",
                             "evaluate", "predict"}))
      ->capture_default_str();
  command->add_option("--format", flags->format, "stablehlo or graph")
      ->check(CLI::IsMember({"stablehlo", "graph"}))
      ->capture_default_str();
  command->callback([flags, &context] { context.action = [flags] { return run(*flags); }; });
}

}  // namespace toroid::cli
