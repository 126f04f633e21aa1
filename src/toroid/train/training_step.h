// One update of the state from the loader's batches, and what is done about one that is not finite.
#pragma once

#include <cstdint>
#include <string>

#include "toroid/data/loader.h"
#include "toroid/train/engine.h"

namespace toroid {

struct TrainedStep {
  Outputs outputs;            ///< of build_train_graph
  std::int64_t examples = 0;  ///< real ones of the global batch
  double data_wait = 0;       ///< seconds until the loader had its batches
  double seconds = 0;         ///< in the backend
};

/// Compiles what the first update needs, so that what cannot be compiled is known early.
void prepare_training(Engine& engine);

/// Takes the next global batch and updates the state: by the train graph, or micro-batch by
/// micro-batch with `accumulate` and then `apply`.
TrainedStep train_step(Engine& engine, Loader& loader, const Scalars& scalars);

/// Counts the updates whose loss or gradient was not finite; they left the state as it was, on all
/// ranks together.
class NonFiniteSteps {
 public:
  /// `on_non_finite`: stop | skip.
  explicit NonFiniteSteps(std::string on_non_finite) : on_non_finite_(std::move(on_non_finite)) {}

  /// True when the step counted. Error when it did not and the run stops at that, or when it was
  /// one of too many in a row: a state from which no step is finite any more does not come back.
  bool accept(const Outputs& outputs, std::int64_t step);
  std::int64_t skipped() const { return skipped_; }
  std::int64_t in_a_row() const { return in_a_row_; }

 private:
  std::string on_non_finite_;
  std::int64_t skipped_ = 0;
  std::int64_t in_a_row_ = 0;
};

}  // namespace toroid
