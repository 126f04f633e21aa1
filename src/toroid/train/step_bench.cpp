#include "toroid/train/step_bench.h"

#include <algorithm>

#include "toroid/base/error.h"
#include "toroid/base/machine.h"
#include "toroid/base/stopwatch.h"
#include "toroid/comm/self.h"
#include "toroid/train/engine_report.h"

namespace toroid {
namespace {

std::vector<Batch> made_batches(const StepOptions& options, int local_replicas) {
  const std::int64_t slots = replica_batch(options.micro_batch(), options.replicas);
  std::vector<Batch> batches;
  for (int replica = 0; replica < local_replicas; ++replica) {
    Batch batch{Tensor(DType::u8,
                       Shape{slots, options.image_height, options.image_width, options.channels}),
                Tensor(DType::i32, Shape{slots}), Tensor(DType::u32, Shape{slots}),
                Tensor(DType::f32, Shape{slots})};
    std::uint32_t pixel = 1;
    for (std::uint8_t& value : batch.images.values<std::uint8_t>()) {
      pixel = pixel * 1664525 + 1013904223;  // Numerical Recipes' generator
      value = static_cast<std::uint8_t>(pixel >> 24);
    }
    for (std::int64_t i = 0; i < slots; ++i) {
      const auto at = static_cast<std::size_t>(i);
      batch.labels.values<std::int32_t>()[at] = static_cast<std::int32_t>(i % options.classes);
      batch.ids.values<std::uint32_t>()[at] = static_cast<std::uint32_t>(i);
      batch.weights.values<float>()[at] = 1;
    }
    batches.push_back(std::move(batch));
  }
  return batches;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// The times of `after` less those of `before`.
std::vector<NodeTime> difference(std::vector<NodeTime> after, const std::vector<NodeTime>& before) {
  for (std::size_t i = 0; i < after.size(); ++i) {
    after[i].runs -= before[i].runs;
    after[i].seconds -= before[i].seconds;
  }
  return after;
}

}  // namespace

StepBenchResult bench_step(const StepBenchOptions& options) {
  const Stopwatch start;
  SelfCommunicator communicator;
  const auto backend = make_backend(options.backend, communicator);
  StepBenchOptions whole = options;
  whole.step.replicas = backend->local_replicas();
  whole.step.batch_norm_batch = whole.step.global_batch;
  const double made_s = start.seconds();
  StepBenchResult result = bench_step(*backend, whole);
  result.start_s += made_s;
  return result;
}

StepBenchResult bench_step(Backend& backend, const StepBenchOptions& options) {
  const Stopwatch start;
  const StepOptions& step = options.step;
  Engine engine(backend, step);
  engine.initialize(1);
  const auto batches = made_batches(step, backend.local_replicas());
  Executable& executable = step.accumulate > 1 ? engine.accumulate(false) : engine.train(false);
  if (options.trace && executable.node_times().empty()) {
    fail_usage("the {} backend does not time its ops, so there is no trace to write",
               backend.name());
  }
  StepBenchResult result;
  std::vector<NodeEvent> events;
  std::int64_t number = 0;
  const auto run = [&] {
    executable.run(engine.state(), batches, {.learning_rate = 0.01, .step = number++, .seed = 1});
  };
  result.start_s = start.seconds();
  run();
  result.first_step_s = start.seconds() - result.start_s;
  for (int i = 1; i < options.warm_up; ++i) run();
  const auto before = executable.node_times();
  for (int i = 0; i < options.steps; ++i) {
    if (options.trace && i + 1 == options.steps) executable.trace(&events);
    const Stopwatch watch;
    run();
    result.step_ms.push_back(watch.seconds() * 1e3);
  }
  executable.trace(nullptr);
  result.median_ms = median(result.step_ms);
  result.images_per_s = static_cast<double>(step.micro_batch()) / result.median_ms * 1e3;
  result.parameters = engine.parameters();
  result.state_mb = state_mb(engine.state());
  result.rss_mb = static_cast<double>(peak_resident_bytes()) / 1e6;
  result.memory = executable.memory();
  const auto nodes = difference(executable.node_times(), before);
  result.ops = by_op(nodes);
  result.trace = trace_events(nodes, events);
  return result;
}

}  // namespace toroid
