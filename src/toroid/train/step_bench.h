// Timing one model's training steps without data: what `toroid bench step` reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "toroid/backends/backend.h"
#include "toroid/train/engine.h"
#include "toroid/train/op_times.h"
#include "toroid/train/step.h"

namespace toroid {

struct StepBenchOptions {
  StepOptions step;  ///< replicas and batch_norm_batch are set by bench_step
  BackendOptions backend;
  int steps = 5;       ///< timed ones
  int warm_up = 2;     ///< run before them
  bool trace = false;  ///< record when each node of the last step ran
};

struct StepBenchResult {
  std::vector<double> step_ms;  ///< of each timed step, in their order
  double median_ms = 0;
  double images_per_s = 0;      ///< of the median step
  double start_s = 0;           ///< from the options to the beginning of the first step
  double first_step_s = 0;      ///< which meets its memory for the first time
  std::int64_t parameters = 0;  ///< trained ones
  double state_mb = 0;          ///< variables, in 10^6 bytes
  double rss_mb = 0;            ///< the process's largest resident set, in 10^6 bytes
  MemoryUse memory;
  std::vector<OpTime> ops;        ///< the longest first; empty where the backend does not know
  std::vector<TraceEvent> trace;  ///< of the last timed step
};

/// Trains on pictures and labels that it makes, with a learning rate of 0.01 and batch norm over
/// the whole batch. Error (exit status 2) when a trace is asked of a backend that does not time its
/// nodes.
StepBenchResult bench_step(const StepBenchOptions& options);

/// The same on a backend that is there, for any number of processes together: `options.step` is
/// taken as it is, `options.backend` not looked at. Where gradients accumulate, a step is a
/// micro-batch.
StepBenchResult bench_step(Backend& backend, const StepBenchOptions& options);

}  // namespace toroid
