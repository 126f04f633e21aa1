#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "toroid/cli/commands.h"
#include "toroid/models/model.h"
#include "toroid/train/layer_table.h"

namespace toroid::cli {
namespace {

struct Flags {
  std::string name;
  std::int64_t size = 224, channels = 3, classes = 1000, batch = 1;
  std::vector<std::int64_t> head;
  bool json = false;
};

StepOptions step_options(const Flags& flags) {
  return {.model = std::string(find_model(flags.name).name),
          .classes = flags.classes,
          .head = flags.head,
          .image_height = flags.size,
          .image_width = flags.size,
          .channels = flags.channels,
          .global_batch = flags.batch,
          .batch_norm_batch = flags.batch};
}

void list_models(bool json) {
  auto list = nlohmann::ordered_json::array();
  for (const ModelInfo& model : models()) {
    if (json) {
      list.push_back({{"name", model.name}, {"description", model.description}});
    } else {
      fmt::print("{:12} {}\n", model.name, model.description);
    }
  }
  if (json) fmt::print("{}\n", list.dump(2));
}

nlohmann::ordered_json to_json(const LayerRow& row) {
  auto variables = nlohmann::ordered_json::array();
  for (const Variable& variable : row.variables) {
    variables.push_back({{"name", variable.name},
                         {"shape", variable.type.shape.dims()},
                         {"trainable", variable.trainable}});
  }
  return {{"path", row.path},
          {"output", row.output.dims()},
          {"parameters", row.parameters()},
          {"flops", row.flops},
          {"variables", variables}};
}

void print_json(const Flags& flags, const LayerTable& table) {
  auto layers = nlohmann::ordered_json::array();
  for (const LayerRow& row : table.rows) layers.push_back(to_json(row));
  const nlohmann::ordered_json json{{"model", flags.name},
                                    {"size", flags.size},
                                    {"channels", flags.channels},
                                    {"classes", flags.classes},
                                    {"head", flags.head},
                                    {"batch", flags.batch},
                                    {"layers", layers},
                                    {"trainable_parameters", table.trainable},
                                    {"all_parameters", table.all},
                                    {"forward_flops_per_image", table.forward_flops},
                                    {"training_flops_per_image", table.training_flops}};
  fmt::print("{}\n", json.dump(2));
}

void print_table(const Flags& flags, const LayerTable& table) {
  fmt::print("{:44} {:20} {:>12} {:>12}\n", "layer", "output", "parameters", "MFLOP/image");
  for (const LayerRow& row : table.rows) {
    fmt::print("{:44} {:20} {:>12} {:>12.3f}\n", row.path, row.output.str(), row.parameters(),
               row.flops / 1e6);
  }
  fmt::print("{} on pictures of {}x{}x{}, {} classes:\n", flags.name, flags.size, flags.size,
             flags.channels, flags.classes);
  fmt::print("{:>16} trained parameters\n{:>16} with moving statistics\n", table.trainable,
             table.all);
  fmt::print("{:>16.3f} GFLOP to predict a picture\n", table.forward_flops / 1e9);
  fmt::print("{:>16.3f} GFLOP to train on a picture, in steps of {}\n", table.training_flops / 1e9,
             flags.batch);
}

int run(const Flags& flags) {
  if (flags.name.empty()) {
    list_models(flags.json);
    return 0;
  }
  const LayerTable table = layer_table(step_options(flags));
  if (flags.json) {
    print_json(flags, table);
  } else {
    print_table(flags, table);
  }
  return 0;
}

}  // namespace

void add_models(CLI::App& app, Context& context) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("models", "The networks, or one network's layers");
  command->footer("example: toroid models resnet8 --size 28 --channels 1 --classes 10");
  command->add_option("name", flags->name, "a model");
  command->add_option("--size", flags->size, "height and width of the pictures")
      ->check(CLI::Range(1, 1 << 14))
      ->capture_default_str();
  command->add_option("--channels", flags->channels, "1 or 3")
      ->check(CLI::IsMember({1, 3}))
      ->capture_default_str();
  command->add_option("--classes", flags->classes, "outputs")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command->add_option("--batch", flags->batch, "pictures of a step")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command
      ->add_option("--head", flags->head, "widths of dense layers before the classifier: 1024,64")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 24));
  command->add_flag("--json", flags->json, "one JSON document");
  command->callback([flags, &context] { context.action = [flags] { return run(*flags); }; });
}

}  // namespace toroid::cli
