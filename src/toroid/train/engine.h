// One run's state and executables over a backend: what training, evaluation and prediction share.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "toroid/backends/backend.h"
#include "toroid/comm/communicator.h"
#include "toroid/train/safetensors.h"
#include "toroid/train/step.h"

namespace toroid {

/// Which backend executes the graphs, and on what.
struct BackendOptions {
  std::string name = "cpu";       ///< cpu | xla | reference
  std::filesystem::path plugin;   ///< xla: the PJRT plugin; empty: the CPU plugin
  int devices = 1;                ///< xla: replicas that this process drives
  bool fast_convolutions = true;  ///< cpu: Winograd's algorithm by rule; model.fast_convolutions
};

/// Error (exit status 2) when the name is unknown, or xla is asked for in a world of several
/// processes.
std::unique_ptr<Backend> make_backend(const BackendOptions& options, Communicator& communicator);

class Engine {
 public:
  /// The backend outlives the engine. Nothing is compiled yet; all variables are zero.
  Engine(Backend& backend, StepOptions options);

  const StepOptions& options() const { return options_; }
  State& state() { return *state_; }
  /// Elements of all trained variables.
  std::int64_t parameters() const;

  /// Compiled when first asked for.
  Executable& train(bool masked);
  Executable& accumulate(bool masked);
  Executable& apply();
  Executable& evaluate();
  Executable& predict();

  /// Those compiled so far, by name: train, train_masked, accumulate, accumulate_masked, apply,
  /// evaluate, predict.
  const std::map<std::string, std::unique_ptr<Executable>>& executables() const {
    return executables_;
  }

  /// Every variable at its initial value.
  void initialize(std::uint64_t seed);
  /// The model's variables from `tensors`, or their averages where it holds those; the optimizer's
  /// stay. Error naming each variable that is missing or has another shape; `source` is named in
  /// it. Entries of other names are reported.
  void load_model(const std::vector<NamedTensor>& tensors, const std::string& source);
  /// All variables, exactly: a checkpoint.
  void load_all(const std::vector<NamedTensor>& tensors, const std::string& source);
  std::vector<NamedTensor> tensors() const;

 private:
  Executable& compiled(const std::string& name, Graph (*build)(const StepOptions&));
  Executable& compiled(const std::string& name, bool masked,
                       Graph (*build)(const StepOptions&, bool));
  void start_averages();

  Backend& backend_;
  StepOptions options_;
  std::vector<Variable> variables_;
  std::unique_ptr<State> state_;
  std::map<std::string, std::unique_ptr<Executable>> executables_;
};

}  // namespace toroid
