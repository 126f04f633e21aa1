#include "toroid/train/training_step.h"

#include "toroid/base/error.h"
#include "toroid/base/stopwatch.h"

namespace toroid {
namespace {

constexpr std::int64_t kSkipLimit = 50;

}  // namespace

void prepare_training(Engine& engine) {
  const StepOptions& o = engine.options();
  const bool masked = o.micro_batch() % o.replicas != 0;
  if (o.accumulate == 1) {
    engine.train(masked);
  } else {
    engine.accumulate(masked);
    engine.apply();
  }
}

TrainedStep train_step(Engine& engine, Loader& loader, const Scalars& scalars) {
  const bool accumulates = engine.options().accumulate > 1;
  TrainedStep step;
  bool last = false;
  while (!last) {
    const Stopwatch waiting;
    const LoadedStep batch = loader.next();
    step.data_wait += waiting.seconds();
    const Stopwatch running;
    Executable& executable =
        accumulates ? engine.accumulate(!batch.full) : engine.train(!batch.full);
    const Outputs& outputs = executable.run(engine.state(), batch.replicas, scalars);
    last = batch.last || !accumulates;
    if (last) {
      step.outputs = accumulates ? engine.apply().run(engine.state(), {}, scalars) : outputs;
    }
    step.examples += batch.examples;
    step.seconds += running.seconds();
  }
  return step;
}

bool NonFiniteSteps::accept(const Outputs& outputs, std::int64_t step) {
  if (outputs.at("finite").item() != 0) {
    in_a_row_ = 0;
    return true;
  }
  if (on_non_finite_ == "stop") {
    fail(
        "step {}: the loss or its gradient is not finite (loss sum {}, gradient norm {}); lower "
        "schedule.rate, lengthen the warm-up, or set train.on_non_finite = \"skip\"",
        step, outputs.at("loss_sum").item(), outputs.at("gradient_norm").item());
  }
  ++skipped_;
  if (++in_a_row_ == kSkipLimit) {
    fail(
        "step {}: {} steps in a row had no finite loss or gradient; training cannot recover; go "
        "back to an older checkpoint with a lower schedule.rate",
        step, kSkipLimit);
  }
  return false;
}

}  // namespace toroid
