#include "toroid/train/engine.h"

#include <algorithm>
#include <array>
#include <set>

#include "toroid/backends/cpu/cpu.h"
#include "toroid/backends/reference/reference.h"
#include "toroid/backends/xla/xla.h"
#include "toroid/base/error.h"
#include "toroid/base/log.h"
#include "toroid/base/machine.h"
#include "toroid/base/nearest.h"
#include "toroid/base/parallel.h"
#include "toroid/train/weight_average.h"

namespace toroid {
namespace {

bool of_model(const std::string& name) {
  return !name.starts_with("optimizer/") && !is_average(name);
}

std::map<std::string, const Tensor*> by_name(const std::vector<NamedTensor>& tensors) {
  std::map<std::string, const Tensor*> result;
  for (const NamedTensor& entry : tensors) result[entry.name] = &entry.tensor;
  return result;
}

// The entry for a variable, in the variable's type. Checkpoints of another precision convert.
Tensor fitting(const std::map<std::string, const Tensor*>& entries, const Variable& variable,
               const std::string& source) {
  const auto entry = entries.find(variable.name);
  if (entry == entries.end()) {
    fail("{}: has no entry {} ({})", source, variable.name, variable.type.str());
  }
  const Tensor& tensor = *entry->second;
  if (tensor.shape() != variable.type.shape || !is_float(tensor.dtype())) {
    fail("{}: {} is {}, this recipe's model has {}", source, variable.name, tensor.type().str(),
         variable.type.str());
  }
  return tensor.converted(variable.type.dtype);
}

}  // namespace

std::unique_ptr<Backend> make_backend(const BackendOptions& options, Communicator& communicator) {
  static constexpr std::array<std::string_view, 3> kNames{"cpu", "xla", "reference"};
  if (options.name != "xla" && (options.devices != 1 || !options.plugin.empty())) {
    fail_usage("--devices and --plugin belong to --backend xla, not to {}", options.name);
  }
  if (options.name == "cpu") {
    return make_cpu_backend(communicator, {.fast_convolutions = options.fast_convolutions});
  }
  if (options.name == "reference") return make_reference_backend(communicator);
  if (options.name != "xla") fail_unknown("backend", options.name, kNames);
  if (communicator.size() > 1) {
    fail_usage(
        "--backend xla drives all devices from one process, but {} were started; use "
        "--devices instead of --workers",
        communicator.size());
  }
  return make_xla_backend({.plugin = options.plugin, .devices = options.devices});
}

Engine::Engine(Backend& backend, StepOptions options)
    : backend_(backend), options_(std::move(options)), variables_(step_variables(options_)) {
  if (options_.dtype == DType::f64 && backend_.name() == "cpu") {
    fail_usage(
        "model.precision = \"f64\" needs --backend reference; the cpu backend computes in f32");
  }
  StateSchema schema;
  for (const Variable& variable : variables_) schema.push_back({variable.name, variable.type});
  for (const Variable& variable : accumulation_variables(options_)) {
    schema.push_back({variable.name, variable.type});
  }
  state_ = backend_.create_state(schema);
}

std::int64_t Engine::parameters() const {
  std::int64_t count = 0;
  for (const Variable& variable : variables_) {
    if (variable.trainable) count += variable.type.elements();
  }
  return count;
}

Executable& Engine::compiled(const std::string& name, Graph (*build)(const StepOptions&)) {
  auto& executable = executables_[name];
  if (executable == nullptr) executable = backend_.compile(build(options_));
  return *executable;
}

Executable& Engine::compiled(const std::string& name, bool masked,
                             Graph (*build)(const StepOptions&, bool)) {
  auto& executable = executables_[masked ? name + "_masked" : name];
  if (executable == nullptr) executable = backend_.compile(build(options_, masked));
  return *executable;
}

Executable& Engine::train(bool masked) {
  return compiled("train", masked, build_train_graph);
}
Executable& Engine::accumulate(bool masked) {
  return compiled("accumulate", masked, build_accumulate_graph);
}
Executable& Engine::apply() {
  return compiled("apply", build_apply_graph);
}
Executable& Engine::evaluate() {
  return compiled("evaluate", build_evaluate_graph);
}
Executable& Engine::predict() {
  return compiled("predict", build_predict_graph);
}

void Engine::initialize(std::uint64_t seed) {
  // Each variable draws from a stream of its own. A few at a time: all at once would be another
  // copy of the network.
  const int threads = usable_threads();
  std::vector<Tensor> values(static_cast<std::size_t>(4 * threads));
  for (std::size_t first = 0; first < variables_.size(); first += values.size()) {
    const std::size_t count = std::min(values.size(), variables_.size() - first);
    parallel_for(count, threads,
                 [&](std::size_t i) { values[i] = initial_value(variables_[first + i], seed); });
    for (std::size_t i = 0; i < count; ++i) {
      state_->write(variables_[first + i].name, values[i]);
      values[i] = Tensor();
    }
  }
  start_averages();
}

void Engine::start_averages() {
  if (options_.ema == 0) return;
  for (const Variable& variable : variables_) {
    if (!of_model(variable.name)) continue;
    state_->write(average_name(variable.name), state_->read(variable.name));
  }
}

void Engine::load_model(const std::vector<NamedTensor>& tensors, const std::string& source) {
  const auto entries = by_name(tensors);
  std::set<std::string> used;
  for (Variable variable : variables_) {
    if (!of_model(variable.name)) continue;
    const std::string name = variable.name;
    used.insert(name);
    if (entries.contains(average_name(name))) variable.name = average_name(name);
    state_->write(name, fitting(entries, variable, source));
  }
  start_averages();
  std::int64_t unused = 0;
  for (const NamedTensor& entry : tensors) {
    unused += of_model(entry.name) && !used.contains(entry.name);
  }
  if (unused > 0)
    log::warning("{}: {} entries are not of this model and were left out", source, unused);
}

void Engine::load_all(const std::vector<NamedTensor>& tensors, const std::string& source) {
  const auto entries = by_name(tensors);
  for (const Variable& variable : variables_) {
    state_->write(variable.name, fitting(entries, variable, source));
  }
}

std::vector<NamedTensor> Engine::tensors() const {
  std::vector<NamedTensor> result;
  for (const Variable& variable : variables_) {
    result.push_back({variable.name, state_->read(variable.name)});
  }
  return result;
}

}  // namespace toroid
