// For the comparison with other frameworks:
//   peer_steps BACKEND FOLDER    BACKEND: reference (in f64), cpu or xla (in f32)
// trains three small networks for three steps with each optimizer and writes everything that a
// framework needs to do the same, and what it must get, as FOLDER/<model>-<rule>.safetensors:
//   before/<variable>            where training starts
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
constexpr int kSteps = 3;
// The last batch is ragged: the others' statistics, loss and gradients are over full batches.
constexpr std::int64_t kExamples[kSteps] = {12, 12, 7};

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
      {"adam_decay", {.name = "adam", .weight_decay = 0.01}, 0.1},
  };
  return all;
}

StepOptions step_options(const std::string& model, const Rule& rule, DType dtype) {
  StepOptions options;
  options.model = model;
  options.classes = 7;
  options.image_height = 12;  // halved to 6 and 3
  options.image_width = 10;   // to 5, and from there unevenly
  options.channels = 3;
  options.global_batch = options.batch_norm_batch = kExamples[0];
  options.dtype = dtype;
  options.label_smoothing = rule.label_smoothing;
  options.optimizer = rule.optimizer;
  return options;
}

Batch make_batch(const StepOptions& options, int step) {
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
  for (std::int64_t i = 0; i < kExamples[step]; ++i) {
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

std::vector<NamedTensor> train(Backend& backend, const StepOptions& options) {
  Engine engine(backend, options);
  engine.initialize(7);
  std::vector<NamedTensor> record;
  append_state(engine, "before/", record);
  for (int step = 0; step < kSteps; ++step) {
    const std::int64_t examples = kExamples[step];
    const Batch batch = make_batch(options, step);
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

Metadata metadata(const StepOptions& options) {
  const OptimizerOptions& optimizer = options.optimizer;
  return {{"model", options.model},
          {"steps", std::to_string(kSteps)},
          {"optimizer", optimizer.name},
          {"learning_rate", fmt::format("{}", kLearningRate)},
          {"momentum", fmt::format("{}", optimizer.momentum)},
          {"beta1", fmt::format("{}", optimizer.beta1)},
          {"beta2", fmt::format("{}", optimizer.beta2)},
          {"epsilon", fmt::format("{}", optimizer.epsilon)},
          {"weight_decay", fmt::format("{}", optimizer.weight_decay)},
          {"label_smoothing", fmt::format("{}", options.label_smoothing)}};
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2) fail_usage("usage: peer_steps BACKEND FOLDER");
  const std::filesystem::path folder = arguments[1];
  std::filesystem::create_directories(folder);
  SelfCommunicator self;
  const auto backend = make_backend({.name = arguments[0]}, self);
  const DType dtype = backend->name() == "reference" ? DType::f64 : DType::f32;
  for (const char* model : {"mlp", "cnn", "resnet8"}) {
    for (const Rule& rule : rules()) {
      const StepOptions options = step_options(model, rule, dtype);
      write_safetensors(folder / fmt::format("{}-{}.safetensors", model, rule.name),
                        train(*backend, options), metadata(options));
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
