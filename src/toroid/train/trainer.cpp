#include "toroid/train/trainer.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <memory>

#include "toroid/base/error.h"
#include "toroid/base/file.h"
#include "toroid/base/log.h"
#include "toroid/base/stopwatch.h"
#include "toroid/data/loader.h"
#include "toroid/train/best.h"
#include "toroid/train/checkpoint.h"
#include "toroid/train/engine_report.h"
#include "toroid/train/evaluation.h"
#include "toroid/train/machines.h"
#include "toroid/train/precision.h"
#include "toroid/train/reporter.h"
#include "toroid/train/run_folder.h"
#include "toroid/train/same_run.h"
#include "toroid/train/setup.h"
#include "toroid/train/training_meter.h"
#include "toroid/train/training_step.h"

namespace toroid {
namespace {

class Trainer {
 public:
  Trainer(const Recipe& recipe, const TrainOptions& options, Communicator& communicator)
      : recipe_(recipe),
        options_(options),
        communicator_(communicator),
        backend_(make_backend(backend_options(recipe, options.backend), communicator)),
        placement_{.replicas = communicator.size() * backend_->local_replicas(),
                   .first = communicator.rank() * backend_->local_replicas(),
                   .local = backend_->local_replicas()},
        dataset_(Dataset::open(recipe.data.train)),
        engine_(*backend_, decided_step()),
        span_(recipe.span(dataset_.size(), engine_.options().global_batch)),
        schedule_(recipe.schedule, span_),
        non_finite_(recipe.train.on_non_finite),
        best_(recipe.checkpoint.best) {
    if (!recipe.data.validation.empty()) {
      validation_ = std::make_unique<Dataset>(Dataset::open(recipe.data.validation));
      check_same_classes(*validation_, dataset_.class_names(), dataset_.pattern());
    }
    resolve();
    check_agreement(communicator, "the recipe", std::hash<std::string>{}(to_toml(recipe_)));
    check_agreement(communicator, "the training data", dataset_.fingerprint());
    check_agreement(communicator, "the validation data",
                    validation_ ? validation_->fingerprint() : 0);
  }

  void run();
  /// Adds an attempt that ended by an error to summary.json, if that can be.
  void fail_attempt(const std::string& error) noexcept;

 private:
  bool reports() const { return communicator_.rank() == 0; }
  std::int64_t per_epoch() const { return static_cast<std::int64_t>(span_.steps_per_epoch); }
  double epoch() const { return static_cast<double>(step_) / span_.steps_per_epoch; }

  StepOptions decided_step();
  void resolve();
  void open_run_folder();
  void resume(const Checkpoint& checkpoint);
  void announce();
  void train_once(Loader& loader);
  void report_training();
  void evaluate_now();
  void save();
  void finish(const std::string& outcome);

  const Stopwatch attempt_;
  Recipe recipe_;  // resolved
  const TrainOptions& options_;
  Communicator& communicator_;
  std::unique_ptr<Backend> backend_;
  Placement placement_;
  Dataset dataset_;
  std::unique_ptr<Dataset> validation_;
  Engine engine_;
  ScheduleSpan span_;
  Schedule schedule_;
  std::unique_ptr<RunLock> lock_;       // on rank 0
  std::unique_ptr<Reporter> reporter_;  // on rank 0

  std::int64_t step_ = 0;        // done
  std::int64_t first_step_ = 0;  // of this attempt
  NonFiniteSteps non_finite_;
  NamedValues last_values_;
  Best best_;
  TrainingMeter meter_;
  TimeUse time_;  // but the rest, which finish() knows
};

// The options of the step; where the precision is "auto", recipe_ gets what was chosen.
StepOptions Trainer::decided_step() {
  StepOptions step = step_options(recipe_, dataset_, placement_.replicas);
  std::string& precision = recipe_.model.precision;
  if (precision == "auto") {
    precision =
        decide_precision(step, recorded_precision(options_.run_folder), *backend_, communicator_);
    set_precision(step, precision);
  }
  return step;
}

// Writes what the data decided into the recipe, so that recipe.toml states every value.
void Trainer::resolve() {
  if (recipe_.train.examples > 0 && recipe_.train.examples != dataset_.size()) {
    fail_usage("train.examples = {}, but {} holds {}", recipe_.train.examples, dataset_.pattern(),
               dataset_.size());
  }
  const StepOptions& o = engine_.options();
  recipe_.model.classes = o.classes;
  recipe_.model.batch_norm_batch = o.batch_norm_batch;
  recipe_.data.image_size = o.image_height;
  recipe_.train.examples = dataset_.size();
}

// What can be refused before anything is made (a batch_norm_batch that does not tile, a wrong
// --init) is. Rank 0 holds the folder before any rank looks for a checkpoint.
void Trainer::open_run_folder() {
  const auto& folder = options_.run_folder;
  if (options_.fresh && std::filesystem::exists(folder) && !std::filesystem::is_empty(folder)) {
    fail("{}: --fresh, but the folder is not empty; give another --out, or empty it",
         folder.string());
  }
  prepare_training(engine_);
  const bool begun = std::filesystem::is_directory(folder) && !list_checkpoints(folder).empty();
  if (!begun) {  // else the newest checkpoint has every variable
    engine_.initialize(recipe_.train.seed);
    if (!recipe_.model.init.empty()) {
      engine_.load_model(read_tensors(recipe_.model.init), recipe_.model.init);
    }
  }
  if (reports()) lock_ = claim_run_folder(folder);
  communicator_.barrier();
  const auto checkpoint = load_newest(folder);
  check_agreement(communicator_, "the checkpoint to go on from",
                  checkpoint ? static_cast<std::uint64_t>(checkpoint->info.step) + 1 : 0);
  if (checkpoint) resume(*checkpoint);
  communicator_.barrier();
  if (!reports()) return;
  write_file(folder / "recipe.toml", to_toml(recipe_));
  write_model_card(folder, {.class_names = dataset_.class_names(),
                            .channels = dataset_.channels(),
                            .image_size = static_cast<int>(recipe_.data.image_size)});
  reporter_ = std::make_unique<Reporter>(
      folder, step_ > 0 ? std::optional<std::int64_t>(step_) : std::nullopt);
}

void Trainer::resume(const Checkpoint& checkpoint) {
  const CheckpointInfo& info = checkpoint.info;
  const std::string path = checkpoint.path.string();
  check_same_run(checkpoint, recipe_, engine_.options().global_batch);
  engine_.load_all(checkpoint.tensors, path);
  step_ = first_step_ = info.step;
  best_.restore(info);
  for (const auto& [name, value] : info.metrics) last_values_.push_back({name, value});
  if (!reports()) return;
  if (step_ == span_.total_steps) {
    log::info("{}: all {} steps are done already", path, step_);
  } else {
    log::info("going on from {} (step {} of {})", path, step_, span_.total_steps);
  }
}

void Trainer::announce() {
  const StepOptions& o = engine_.options();
  if (reports()) {
    log::info("{}: {} parameters; {} training pictures of {}x{}x{}, {} classes; {} steps of {}",
              o.model, engine_.parameters(), dataset_.size(), o.image_height, o.image_width,
              o.channels, o.classes, span_.total_steps, o.global_batch);
    log::info("backend {}, {} replica{}", backend_->name(), placement_.replicas,
              placement_.replicas == 1 ? "" : "s");
  }
  announce_machines(communicator_);
  if (reports()) log::info("{}", format_memory(memory_summary(engine_)));
}

void Trainer::run() {
  open_run_folder();
  announce();
  Loader loader(dataset_, training_loader(recipe_, engine_.options(), placement_),
                {.epoch = step_ / per_epoch(), .batch = step_ % per_epoch()});
  const auto save_every = std::max<std::int64_t>(
      1, std::llround(recipe_.checkpoint.every_epochs * span_.steps_per_epoch));
  time_.starting = attempt_.seconds();
  while (step_ < span_.total_steps) {
    train_once(loader);
    const bool last = step_ == span_.total_steps;
    const bool epoch_end = step_ % per_epoch() == 0;
    const bool evaluates =
        last || (epoch_end && (step_ / per_epoch()) % recipe_.train.evaluate_every == 0);
    const bool due = last || step_ % save_every == 0;
    // A line at each checkpoint too, so that a resumed run writes those of an undisturbed one.
    if (step_ % recipe_.train.log_every == 0 || evaluates || due) report_training();
    if (evaluates) evaluate_now();
    // After a skipped step the older checkpoints stay: this state may be lost for good.
    const bool sound = non_finite_.in_a_row() == 0;
    if (last || (sound && (due || best_.step() == step_))) save();
  }
  finish("done");
}

void Trainer::train_once(Loader& loader) {
  const double rate = schedule_.rate(step_);
  const TrainedStep done = train_step(
      engine_, loader, {.learning_rate = rate, .step = step_, .seed = recipe_.train.seed});
  ++step_;
  time_.data_wait += done.data_wait;
  time_.steps += done.seconds;
  meter_.time(done.data_wait + done.seconds, done.examples);
  if (!non_finite_.accept(done.outputs, step_ - 1)) return;
  meter_.add(done.outputs, rate);
  if (!reports()) return;
  reporter_->progress({.epoch = (step_ - 1) / per_epoch() + 1,
                       .epochs = (span_.total_steps + per_epoch() - 1) / per_epoch(),
                       .step = step_,
                       .steps = span_.total_steps,
                       .loss = meter_.loss(),
                       .top1 = meter_.top1(),
                       .images_per_s = meter_.images_per_s()});
}

void Trainer::report_training() {
  if (reports() && !meter_.empty()) reporter_->train(meter_.record(step_, epoch()));
  meter_.reset();
}

void Trainer::evaluate_now() {
  if (validation_ == nullptr) return;
  const Stopwatch watch;
  const EvaluationSums sums = toroid::evaluate(engine_, *validation_, placement_, recipe_);
  last_values_ = sums.means();
  best_.offer(step_, last_values_);
  if (reports()) {
    reporter_->evaluation({.split = "validation",
                           .step = step_,
                           .epoch = epoch(),
                           .examples = sums.examples,
                           .values = last_values_});
  }
  time_.evaluation += watch.seconds();
}

void Trainer::save() {
  const Stopwatch watch;
  if (reports()) {
    CheckpointInfo info{.step = step_,
                        .epoch = step_ / per_epoch(),
                        .batches_done = step_ % per_epoch(),
                        .seed = recipe_.train.seed,
                        .world_size = placement_.replicas,
                        .global_batch = engine_.options().global_batch,
                        .recipe = to_toml(recipe_)};
    for (const NamedValue& value : last_values_) info.metrics[value.name] = value.value;
    best_.store(info);
    save_checkpoint(options_.run_folder, info, engine_.tensors(),
                    static_cast<int>(recipe_.checkpoint.keep));
  }
  communicator_.barrier();
  time_.saving += watch.seconds();
}

void Trainer::finish(const std::string& outcome) {
  if (!reports() || reporter_ == nullptr) return;
  if (non_finite_.skipped() > 0) {
    log::warning("{} steps were skipped: loss or gradient not finite", non_finite_.skipped());
  }
  const double seconds = attempt_.seconds();
  TimeUse time = time_;
  time.other = seconds - time.sum();
  const SplitSummary validation{last_values_, best_.values(), best_.step()};
  reporter_->finish({.splits = {{"validation", validation}},
                     .seconds = seconds,
                     .images_per_s = meter_.images_per_s(),
                     .parameters = engine_.parameters(),
                     .seed = recipe_.train.seed,
                     .world_size = placement_.replicas,
                     .time = time,
                     .ops = training_seconds_by_op(engine_),
                     .memory = memory_summary(engine_),
                     .versions = {{"toroid", TOROID_VERSION}}},
                    {.first_step = first_step_, .last_step = step_, .outcome = outcome});
}

void Trainer::fail_attempt(const std::string& error) noexcept {
  try {
    finish("failed: " + error);
  } catch (const std::exception& second) {  // the first error is the one to tell
    log::warning("summary.json does not tell of this attempt: {}", second.what());
  }
}

}  // namespace

void train(const Recipe& recipe, const TrainOptions& options, Communicator& communicator) {
  Trainer trainer(recipe, options, communicator);
  try {
    trainer.run();
  } catch (const std::exception& error) {
    trainer.fail_attempt(error.what());
    throw;
  }
}

}  // namespace toroid
