#include "toroid/train/recipe_keys.h"

#include <limits>

#include "toroid/models/model.h"
#include "toroid/train/recipe_table.h"

namespace toroid {
namespace {

constexpr Range kFraction{.low = 0, .high = 1, .below = true};
constexpr Range kFactor{.low = 0, .high = 1e6};
constexpr Range kPositiveFactor{.low = 0, .high = 1e6, .above = true};
constexpr Range kEpochs{.low = 0, .high = 1e6};
constexpr Range kClasses{.low = 0, .high = 1 << 24};
constexpr Range kBatch{.low = 0, .high = 1 << 24};
constexpr Range kPixels{.low = 0, .high = 1 << 14};
constexpr Range kThreads{.low = 0, .high = 1024};
constexpr Range kInt32{.low = 0, .high = std::numeric_limits<std::int32_t>::max()};
constexpr Range kCounted{.low = 1, .high = std::numeric_limits<std::int32_t>::max()};

// A function from a recipe to one of its fields.
#define FIELD(member)       \
  [](Recipe & r) -> auto& { \
    return r.member;        \
  }

void add_model(Table& table) {
  table.add("model.name", FIELD(model.name), "The network; `toroid models` lists them. Required.");
  table.check([](const Recipe& recipe) { find_model(recipe.model.name); });
  table.number("model.classes", FIELD(model.classes), kClasses,
               "Outputs of the classifier; 0: the data set's number of classes.");
  table
      .add("model.head", FIELD(model.head),
           "Widths of dense layers with ReLU before the classifier, `[1024]` for instance; their "
           "names are `head/dense1`, `head/dense2`, ...")
      .range = kUnits.text();
  table.choice(
      "model.precision", FIELD(model.precision), {"f32", "bf16", "auto", "f64"},
      "Type of the arithmetic. bf16: convolutions, what lies between them and the products of "
      "dense layers in bf16; all else, the weights too, in f32. auto: the faster of f32 and bf16, "
      "timed at the start of a run on the cpu backend (f32 on others), recorded in the run "
      "folder's "
      "recipe.toml and kept from then on. f64 is for comparisons, and not for the cpu backend.");
  table.add(
      "model.fast_convolutions", FIELD(model.fast_convolutions),
      "On the cpu backend in f32: Winograd's algorithm for 3x3 convolutions of many channels; "
      "faster, with [rounding errors](algorithms/cpu.md#winograd) up to four times as large.");
  table.number(
      "model.batch_norm_batch", FIELD(model.batch_norm_batch), kBatch,
      "Examples that share batch-norm statistics, counted over the global batch, so that "
      "it means the same at any world size; 0: 64, or the global batch where that is "
      "smaller. It must tile the global batch (with `train.accumulate`, the micro-batch).");
  table.add("model.zero_init_last_gamma", FIELD(model.zero_init_last_gamma),
            "Start the last gamma of each residual block at 0.");
  table.path("model.init", FIELD(model.init),
             "Start from these values instead of random ones: a run, a checkpoint or a safetensors "
             "file; empty: random. Where that has moving averages (`model.ema`), they are taken.");
  table.number(
      "model.ema", FIELD(model.ema), kFraction,
      "Decay of a moving average of all weights and moving statistics, 0.9999 for instance, "
      "which evaluation and prediction use instead of them; 0: none. At step t the decay is "
      "at most (1 + t) / (10 + t).");
}

void add_data(Table& table) {
  table.pattern("data.train", FIELD(data.train),
                "Pattern of the TFRecord shards to train on. Required.");
  table.neutral();
  table.pattern("data.validation", FIELD(data.validation),
                "Pattern of the shards to evaluate on; empty: no evaluation.");
  table.neutral();
  table.number(
      "data.image_size", FIELD(data.image_size), kPixels,
      "Height and width given to the network, in pixels. 0: the data set's size, where all "
      "pictures have one.");
  table.add("data.augment", FIELD(data.augment),
            "What is done with training pictures, in order: names, or tables with a name and "
            "parameters, such as `{ name = \"random_crop\", padding = 8 }`. `random_resized_crop`, "
            "`centre_crop` and `resize` make the size; where none of them is there, "
            "`data.evaluate` makes it first. `random_crop`, `flip_horizontal` and `flip_vertical` "
            "keep it. [The guide](guide/data.md#augmentation) has the parameters.");
  table.choice(
      "data.evaluate", FIELD(data.evaluate), {"centre_crop", "resize"},
      "How pictures get their size in evaluation and prediction: the square around the "
      "centre resized to the image size, or the whole picture, whatever its aspect ratio.");
  table.number("data.crop_fraction", FIELD(data.crop_fraction),
               Range{.low = 0, .high = 1, .above = true},
               "Of centre_crop: side of that square over the shorter side; 0.875 is usual after "
               "training with random_resized_crop.");
  table.number("data.threads", FIELD(data.threads), kThreads,
               "Threads that decode; 0: what the machine gives.");
  table.neutral();
  table.number("data.prefetch", FIELD(data.prefetch), Range{.low = 1, .high = 1024},
               "Batches prepared ahead.");
  table.neutral();
}

void add_train(Table& table) {
  table.number("train.epochs", FIELD(train.epochs), kEpochs,
               "Length of the run in passes over the data; this or `train.steps` is required.");
  table.number("train.steps", FIELD(train.steps), kInt32, "Length of the run in steps.");
  table.number("train.global_batch", FIELD(train.global_batch), kBatch,
               "Examples of one step over all replicas; this or `train.batch_per_worker` is "
               "required.");
  table.number("train.batch_per_worker", FIELD(train.batch_per_worker), kBatch,
               "Examples of one step on each replica (the papers' per-core batch).");
  table.number("train.examples", FIELD(train.examples), kInt32,
               "Training examples, so that `toroid recipe show` works without the data; 0: counted "
               "from the data.");
  table.neutral();
  table.number("train.seed", FIELD(train.seed), Range{.low = 0, .high = 0x1p63},
               "Determines initial values, order and augmentation.");
  table.number("train.label_smoothing", FIELD(train.label_smoothing), kFraction,
               "Share of the target spread evenly over all classes, in training.");
  table.number(
      "train.accumulate", FIELD(train.accumulate), Range{.low = 1, .high = 65536},
      "Micro-batches in which a global batch is worked through, for less memory: gradients "
      "add up, and the weights are updated once. The result is that of the whole batch; "
      "batch norm's groups lie inside a micro-batch.");
  table.number("train.clip_norm", FIELD(train.clip_norm), kFactor,
               "Largest L2 norm of the mean gradient over all parameters together; a larger one is "
               "scaled down to it. 0: not clipped.");
  table.number("train.evaluate_every", FIELD(train.evaluate_every), kCounted,
               "Epochs between evaluations; the end is always evaluated.");
  table.neutral();
  table.choice("train.on_non_finite", FIELD(train.on_non_finite), {"stop", "skip"},
               "What an infinite or NaN loss or gradient does: stop the run, or skip the step. All "
               "ranks agree; the state is never touched by such a step; 50 skipped in a row stop "
               "the run.");
  table.number("train.log_every", FIELD(train.log_every), kCounted,
               "Steps between lines of metrics.jsonl; each is the mean since the one before.");
  table.neutral();
}

void add_optimizer(Table& table) {
  table.choice("optimizer.name", FIELD(optimizer.name), {"sgd", "adam", "adamw"},
               "The update rule. Momentum is PyTorch's form: the rate multiplies the buffer.");
  table.number("optimizer.momentum", FIELD(optimizer.momentum), kFraction, "Of sgd; 0: none.");
  table.add("optimizer.nesterov", FIELD(optimizer.nesterov),
            "Of sgd: Nesterov's momentum, in PyTorch's form.");
  table.number("optimizer.beta1", FIELD(optimizer.beta1), kFraction, "Of adam and adamw: mean.");
  table.number("optimizer.beta2", FIELD(optimizer.beta2), kFraction,
               "Of adam and adamw: variance.");
  table.number("optimizer.epsilon", FIELD(optimizer.epsilon), Range{.low = 1e-30, .high = 1},
               "Of adam and adamw, added to the root of the variance.");
  table.number(
      "optimizer.weight_decay", FIELD(optimizer.weight_decay), kFactor,
      "Times the parameter, added to its gradient (sgd, adam); adamw subtracts it, times the "
      "learning rate, from the parameter itself.");
  table.add("optimizer.exclude", FIELD(optimizer.exclude),
            "Patterns of parameter names that take no weight decay.");
  table.numbers(
      "optimizer.multipliers", FIELD(optimizer.multipliers), kFactor,
      "Factors of the learning rate by pattern of parameter names, "
      "`{ \"head/*\" = 10.0 }` for instance. Of several patterns that match a name, the one "
      "with the most characters besides `*` and `?` holds; each must match something.");
}

void add_schedule(Table& table) {
  constexpr Range kFall{.low = 0, .high = 1, .above = true};
  constexpr Range kDivisor{.low = 1, .high = 1e12};
  table.choice(
      "schedule.name", FIELD(schedule.name),
      {"constant", "step", "cosine", "polynomial", "exponential", "one_cycle"},
      "The learning rate after the warm-up. one_cycle is PyTorch's OneCycleLR (cosine, two "
      "phases), without its cycling of momentum.");
  table.number("schedule.rate", FIELD(schedule.rate), kPositiveFactor, "The peak.");
  table.number("schedule.warmup_epochs", FIELD(schedule.warmup_epochs), kEpochs,
               "Epochs of linear warm-up to the peak; not for one_cycle.");
  table.number("schedule.end", FIELD(schedule.end), kFactor,
               "Of cosine and polynomial: the rate of the last step.");
  table.numbers("schedule.milestones", FIELD(schedule.milestones), kEpochs,
                "Of step: the epochs, from the run's start, after which the rate is multiplied by "
                "`schedule.factor`; may be fractions.");
  table.number(
      "schedule.factor", FIELD(schedule.factor), kFall,
      "Of step, at each milestone; of exponential, in each epoch (a little at every step).");
  table.number("schedule.power", FIELD(schedule.power), Range{.low = 0, .high = 100, .above = true},
               "Of polynomial; 1 is a straight line.");
  table.number("schedule.pct_start", FIELD(schedule.pct_start), kFraction,
               "Of one_cycle: the share of the run in which the rate rises.");
  table.number("schedule.div_factor", FIELD(schedule.div_factor), kDivisor,
               "Of one_cycle: the peak over the first rate.");
  table.number("schedule.final_div_factor", FIELD(schedule.final_div_factor), kDivisor,
               "Of one_cycle: the first rate over the last.");
}

void add_checkpoint(Table& table) {
  table.number("checkpoint.every_epochs", FIELD(checkpoint.every_epochs), kPositiveFactor,
               "Epochs between checkpoints; the end is always saved.");
  table.neutral();
  table.number("checkpoint.keep", FIELD(checkpoint.keep), kCounted,
               "Newest checkpoints kept; the best one is kept besides.");
  table.neutral();
  table.choice("checkpoint.best", FIELD(checkpoint.best),
               {"validation.top1", "validation.top5", "validation.loss"},
               "The measure of the best checkpoint.");
  table.neutral();
}

#undef FIELD

}  // namespace

const std::vector<RecipeKey>& recipe_keys() {
  static const std::vector<RecipeKey> keys = [] {
    std::vector<RecipeKey> made;
    Table table(made);
    add_model(table);
    add_data(table);
    add_train(table);
    add_optimizer(table);
    add_schedule(table);
    add_checkpoint(table);
    return made;
  }();
  return keys;
}

}  // namespace toroid
