// For the comparison with other frameworks:
//   peer_steps BACKEND FOLDER                BACKEND: reference (in f64), cpu or xla (in f32)
//   peer_steps BACKEND FOLDER MODEL SIZE     pictures of SIZE x SIZE
// trains three small networks for three steps with each optimizer, or one step of a large one, and
// writes everything that a framework needs to do the same, and what it must get, as
// FOLDER/<model>-<rule>.safetensors:
//   before/<variable>            where training starts
//   before/logits                predicted there for the first batch
//   <step>/images, labels        the real examples of the batch: u8 [N,H,W,C], i32 [N]
//   <step>/loss                  their mean loss, f64 []
//   <step>/after/<variable>      all variables after the step, the optimizer's too
// The metadata has the model and the rule's options.
#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "toroid/base/error.h"
#include "toroid/base/random.h"
#include "toroid/comm/self.h"
#include "toroid/train/engine.h"
#include "toroid/train/safetensors.h"

namespace toroid {
namespace {

constexpr double kLearningRate = 0.02;
// The last batch is ragged: the others' statistics, loss and gradients are over full batches.
const std::vector<std::int64_t> kExamples{12, 12, 7};
const std::vector<std::int64_t> kExamplesOfLarge{3};

// An update rule, and the smoothing of the labels it is tried with.
struct Rule {
  std::string name;
  OptimizerOptions optimizer;
  double label_smoothing = 0;
};

const std::vector<Rule>& rules() {
  // Without decay, the momentum after the first step is the gradient itself.
  static const std::vector<Rule> all{
      {"sgd", {.name = "sgd"}},
      {"sgd_decay", {.name = "sgd", .weight_decay = 0.01}, 0.1},
      {"sgd_nesterov", {.name = "sgd", .nesterov = true, .weight_decay = 0.01}},
      {"adam_decay", {.name = "adam", .weight_decay = 0.01}, 0.1},
      {"adamw_decay", {.name = "adamw", .weight_decay = 0.1}},
  };
  return all;
}

StepOptions step_options(const std::string& model, const Rule& rule, DType dtype,
                         std::int64_t batch) {
  StepOptions options;
  options.model = model;
  options.classes = 7;
  options.image_height = 12;  // halved to 6 and 3
  options.image_width = 10;   // to 5, and from there unevenly
  options.channels = 3;
  options.global_batch = options.batch_norm_batch = batch;
  options.dtype = dtype;
  options.label_smoothing = rule.label_smoothing;
  options.optimizer = rule.optimizer;
  return options;
}

Batch make_batch(const StepOptions& options, int step, std::int64_t examples) {
  const Shape slots{options.global_batch};
  Batch batch{Tensor(DType::u8, {options.global_batch, options.image_height, options.image_width,
                                 options.channels}),
              Tensor(DType::i32, slots), Tensor(DType::u32, slots), Tensor(DType::f32, slots)};
  Random random(1, "peer batch", static_cast<std::uint32_t>(step));
  for (auto& pixel : batch.images.values<std::uint8_t>()) {
    pixel = static_cast<std::uint8_t>(random.below(256));
  }
  for (auto& label : batch.labels.values<std::int32_t>()) {
    label = static_cast<std::int32_t>(random.below(static_cast<std::uint32_t>(options.classes)));
  }
  for (std::int64_t i = 0; i < examples; ++i) {
    batch.weights.values<float>()[static_cast<std::size_t>(i)] = 1;
  }
  return batch;
}

// The first `count` along the first axis.
template <class T>
Tensor first(const Tensor& tensor, std::int64_t count) {
  Shape shape = tensor.shape();
  shape[0] = count;
  return Tensor::of<T>(shape, tensor.values<T>().first(static_cast<std::size_t>(shape.elements())));
}

void append_state(const Engine& engine, const std::string& prefix,
                  std::vector<NamedTensor>& record) {
  for (NamedTensor& entry : engine.tensors()) {
    record.push_back({prefix + entry.name, std::move(entry.tensor)});
  }
}

std::vector<NamedTensor> train(Backend& backend, const StepOptions& options,
                               const std::vector<std::int64_t>& examples_of_steps) {
  Engine engine(backend, options);
  engine.initialize(7);
  std::vector<NamedTensor> record;
  append_state(engine, "before/", record);
  const Batch first_batch = make_batch(options, 0, examples_of_steps[0]);
  const Outputs predicted = engine.predict().run(engine.state(), {&first_batch, 1}, {});
  record.push_back({"before/logits", predicted.at("logits")});
  for (int step = 0; step < std::ssize(examples_of_steps); ++step) {
    const std::int64_t examples = examples_of_steps[static_cast<std::size_t>(step)];
    const Batch batch = make_batch(options, step, examples);
    const Outputs outputs =
        engine.train(examples < options.global_batch)
            .run(engine.state(), {&batch, 1}, {.learning_rate = kLearningRate, .step = step});
    const std::string prefix = std::to_string(step) + "/";
    record.push_back({prefix + "images", first<std::uint8_t>(batch.images, examples)});
    record.push_back({prefix + "labels", first<std::int32_t>(batch.labels, examples)});
    const double loss = outputs.at("loss_sum").item() / outputs.at("examples").item();
    record.push_back({prefix + "loss", Tensor::scalar(loss)});
    append_state(engine, prefix + "after/", record);
  }
  return record;
}

Metadata metadata(const StepOptions& options, std::size_t steps) {
  const OptimizerOptions& optimizer = options.optimizer;
  return {{"model", options.model},
          {"steps", std::to_string(steps)},
          {"optimizer", optimizer.name},
          {"learning_rate", fmt::format("{}", kLearningRate)},
          {"momentum", fmt::format("{}", optimizer.momentum)},
          {"nesterov", optimizer.nesterov ? "1" : "0"},
          {"beta1", fmt::format("{}", optimizer.beta1)},
          {"beta2", fmt::format("{}", optimizer.beta2)},
          {"epsilon", fmt::format("{}", optimizer.epsilon)},
          {"weight_decay", fmt::format("{}", optimizer.weight_decay)},
          {"label_smoothing", fmt::format("{}", options.label_smoothing)}};
}

void write_steps(Backend& backend, const StepOptions& options, const std::string& rule,
                 const std::vector<std::int64_t>& examples, const std::filesystem::path& folder) {
  write_safetensors(folder / fmt::format("{}-{}.safetensors", options.model, rule),
                    train(backend, options, examples), metadata(options, examples.size()));
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2 && arguments.size() != 4) {
    fail_usage("usage: peer_steps BACKEND FOLDER [MODEL SIZE]");
  }
  const std::filesystem::path folder = arguments[1];
  std::filesystem::create_directories(folder);
  SelfCommunicator self;
  const auto backend = make_backend({.name = arguments[0]}, self);
  const DType dtype = backend->name() == "reference" ? DType::f64 : DType::f32;
  if (arguments.size() == 4) {
    const Rule& rule = rules().front();
    StepOptions options = step_options(arguments[2], rule, dtype, kExamplesOfLarge[0]);
    options.image_height = options.image_width = std::stoll(arguments[3]);
    write_steps(*backend, options, rule.name, kExamplesOfLarge, folder);
    return 0;
  }
  for (const char* model : {"mlp", "cnn", "resnet8"}) {
    for (const Rule& rule : rules()) {
      write_steps(*backend, step_options(model, rule, dtype, kExamples[0]), rule.name, kExamples,
                  folder);
    }
  }
  return 0;
}

}  // namespace
}  // namespace toroid

int main(int argc, char** argv) {
  try {
    return toroid::run({argv + 1, argv + argc});
  } catch (const toroid::Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return static_cast<int>(error.status());
  }
}
