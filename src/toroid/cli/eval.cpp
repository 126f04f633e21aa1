#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "toroid/base/error.h"
#include "toroid/cli/backend_flags.h"
#include "toroid/cli/commands.h"
#include "toroid/comm/self.h"
#include "toroid/train/evaluation.h"
#include "toroid/train/run_folder.h"
#include "toroid/train/setup.h"

namespace toroid::cli {
namespace {

struct Flags {
  std::filesystem::path run;
  std::string data;
  bool json = false;
  std::int64_t batch = 256;
  BackendOptions backend;
};

void print(const Flags& flags, const Run& run, const EvaluationSums& sums,
           const std::string& data) {
  if (flags.json) {
    nlohmann::ordered_json json = {{"run", run.folder.string()},
                                   {"checkpoint", run.checkpoint.path.string()},
                                   {"step", run.checkpoint.info.step},
                                   {"data", data},
                                   {"examples", sums.examples}};
    for (const NamedValue& value : sums.means()) {
      json[value.name] = std::isfinite(value.value) ? nlohmann::ordered_json(value.value)
                                                    : non_finite_name(value.value);
    }
    fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return;
  }
  fmt::print("{} on {} ({} examples)\n", run.checkpoint.path.string(), data, sums.examples);
  for (const NamedValue& value : sums.means())
    fmt::print("  {:5} {:.4f}\n", value.name, value.value);
}

int run(const Flags& flags) {
  const Run opened = open_run(flags.run);
  const std::string data = flags.data.empty() ? opened.recipe.data.validation : flags.data;
  if (data.empty()) {
    fail_usage("{}: its recipe names no validation data; give --data PATTERN", flags.run.string());
  }
  const Dataset dataset = Dataset::open(data);
  check_same_classes(dataset, opened.card.class_names, flags.run.string());
  SelfCommunicator communicator;
  const auto backend = make_backend(backend_options(opened.recipe, flags.backend), communicator);
  StepOptions options = opened.step_options(flags.batch);
  options.replicas = backend->local_replicas();
  Engine engine(*backend, options);
  engine.load_all(opened.checkpoint.tensors, opened.checkpoint.path.string());
  const Placement placement{.replicas = options.replicas, .local = options.replicas};
  const EvaluationSums sums = evaluate(engine, dataset, placement, opened.recipe);
  print(flags, opened, sums, data);
  return 0;
}

}  // namespace

void add_eval(CLI::App& app, Context& context) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("eval", "Accuracy of a run's newest checkpoint on a data set");
  command->footer("example: toroid eval demo-run/run --json");
  command->add_option("run", flags->run, "run folder")->required();
  command->add_option("--data", flags->data,
                      "pattern of TFRecord shards (default: the recipe's validation data)");
  command->add_option("--batch", flags->batch, "pictures evaluated at once")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "one JSON document on standard output");
  add_backend_flags(*command, flags->backend);
  command->callback([flags, &context] { context.action = [flags] { return run(*flags); }; });
}

}  // namespace toroid::cli
