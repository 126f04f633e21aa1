#include "toroid/train/setup.h"

#include <algorithm>

#include "toroid/base/error.h"
#include "toroid/train/precision.h"

namespace toroid {
namespace {

constexpr std::int64_t kDefaultBatchNormBatch = 64;

std::int64_t class_count(const Recipe& recipe, const Dataset& dataset) {
  const std::int64_t stated = recipe.model.classes;
  if (stated == 0 && dataset.classes() == 0) {
    fail_usage("model.classes is missing: there is no dataset.json beside {} to tell how many",
               dataset.pattern());
  }
  if (stated > 0 && stated < dataset.classes()) {
    fail_usage("model.classes = {}, but {} has {} classes", stated, dataset.pattern(),
               dataset.classes());
  }
  return stated > 0 ? stated : dataset.classes();
}

std::int64_t image_size(const Recipe& recipe, const Dataset& dataset) {
  if (recipe.data.image_size > 0) return recipe.data.image_size;
  if (dataset.height() == 0 || dataset.height() != dataset.width()) {
    fail_usage("data.image_size is missing: the pictures of {} are not all of one square size",
               dataset.pattern());
  }
  return dataset.height();
}

}  // namespace

StepOptions step_options(const Recipe& recipe, const Dataset& dataset, int replicas) {
  const std::int64_t size = image_size(recipe, dataset);
  const std::int64_t global_batch = recipe.global_batch(replicas);
  const std::int64_t accumulate = recipe.train.accumulate;
  if (accumulate > global_batch) {
    fail_usage("train.accumulate = {}: a global batch has only {} examples to share out",
               accumulate, global_batch);
  }
  const std::int64_t shared = recipe.model.batch_norm_batch;
  StepOptions options{.model = recipe.model.name,
                      .classes = class_count(recipe, dataset),
                      .head = recipe.model.head,
                      .image_height = size,
                      .image_width = size,
                      .channels = dataset.channels(),
                      .global_batch = global_batch,
                      .replicas = replicas,
                      .batch_norm_batch = shared,
                      .zero_init_last_gamma = recipe.model.zero_init_last_gamma,
                      .label_smoothing = recipe.train.label_smoothing,
                      .optimizer = recipe.optimizer,
                      .clip_norm = recipe.train.clip_norm,
                      .ema = recipe.model.ema,
                      .accumulate = static_cast<int>(accumulate)};
  set_precision(options, recipe.model.precision);
  if (shared == 0) {
    options.batch_norm_batch = std::min(kDefaultBatchNormBatch, options.micro_batch());
  }
  return options;
}

BackendOptions backend_options(const Recipe& recipe, BackendOptions asked) {
  asked.fast_convolutions = recipe.model.fast_convolutions;
  return asked;
}

LoaderOptions training_loader(const Recipe& recipe, const StepOptions& options,
                              const Placement& placement) {
  return {.image_size = static_cast<int>(options.image_height),
          .channels = static_cast<int>(options.channels),
          .classes = options.classes,
          .global_batch = options.global_batch,
          .micro_batches = options.accumulate,
          .world_size = placement.replicas,
          .first_replica = placement.first,
          .local_replicas = placement.local,
          .shuffle = true,
          .augment = recipe.training_pictures(),
          .seed = recipe.train.seed,
          .threads = static_cast<int>(recipe.data.threads),
          .prefetch = static_cast<int>(recipe.data.prefetch)};
}

}  // namespace toroid
