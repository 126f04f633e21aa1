#include <CLI/CLI.hpp>
#include <memory>

#include "toroid/cli/commands.h"
#include "toroid/models/model.h"
#include "toroid/train/step.h"

namespace toroid::cli {
namespace {

struct Flags {
  std::string name;
  std::int64_t size = 28, channels = 1, classes = 10;
};

void list_models() {
  for (const ModelInfo& model : models()) fmt::print("{:10} {}\n", model.name, model.description);
}

void show_model(const Flags& flags) {
  const StepOptions options{.model = std::string(find_model(flags.name).name),
                            .classes = flags.classes,
                            .image_height = flags.size,
                            .image_width = flags.size,
                            .channels = flags.channels,
                            .global_batch = 1,
                            .batch_norm_batch = 1};
  std::int64_t trained = 0, other = 0;
  for (const Variable& variable : step_variables(options)) {
    if (variable.name.starts_with("optimizer/")) continue;
    (variable.trainable ? trained : other) += variable.type.elements();
    fmt::print("{:44} {:20} {:>10}{}\n", variable.name, variable.type.shape.str(),
               variable.type.elements(), variable.trainable ? "" : "  moving statistic");
  }
  const double flops = total_cost(build_predict_graph(options)).flops;
  fmt::print(
      "{}: {} trained parameters, {} moving statistics; {:.1f} MFLOP to predict one {}x{}x{} "
      "picture\n",
      flags.name, trained, other, flops / 1e6, flags.size, flags.size, flags.channels);
}

}  // namespace

void add_models(CLI::App& app, Context& context) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("models", "The networks, or one network's variables");
  command->footer("example: toroid models resnet8 --size 32 --channels 3");
  command->add_option("name", flags->name, "a model");
  command->add_option("--size", flags->size, "height and width of the pictures")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
  command->add_option("--channels", flags->channels, "1 or 3")
      ->check(CLI::IsMember({1, 3}))
      ->capture_default_str();
  command->add_option("--classes", flags->classes, "outputs")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command->callback([flags, &context] {
    context.action = [flags] {
      if (flags->name.empty()) {
        list_models();
      } else {
        show_model(*flags);
      }
      return 0;
    };
  });
}

}  // namespace toroid::cli
