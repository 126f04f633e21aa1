#include "toroid/train/training_step.h"

#include "toroid/base/error.h"

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
  if (engine.options().accumulate == 1) {
    const LoadedStep batch = loader.next();
    return {engine.train(!batch.full).run(engine.state(), batch.replicas, scalars), batch.examples};
  }
  TrainedStep step;
  bool last = false;
  while (!last) {
    const LoadedStep batch = loader.next();
    engine.accumulate(!batch.full).run(engine.state(), batch.replicas, scalars);
    step.examples += batch.examples;
    last = batch.last;
  }
  step.outputs = engine.apply().run(engine.state(), {}, scalars);
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
