#include "toroid/train/recipe_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "toroid/base/error.h"
#include "toroid/models/model.h"
#include "toroid/train/recipe_augment.h"

namespace toroid {
namespace {

// Closed interval, with open ends where `above` and `below` say so. Every upper end is far above
// what makes sense and far below what overflows an int, an i32 scalar of the graph or f32.
struct Range {
  double low = 0, high = 0;
  bool above = false;  ///< the lower end itself is out
  bool below = false;  ///< the upper end itself is out

  bool contains(double x) const {
    return (above ? x > low : x >= low) && (below ? x < high : x <= high);
  }
  std::string text() const {
    return fmt::format("{}{:.12g}, {:.12g}{}", above ? "(" : "[", low, high, below ? ")" : "]");
  }
};

constexpr Range kFraction{.low = 0, .high = 1, .below = true};
constexpr Range kFactor{.low = 0, .high = 1e6};
constexpr Range kPositiveFactor{.low = 0, .high = 1e6, .above = true};
constexpr Range kEpochs{.low = 0, .high = 1e6};
constexpr Range kClasses{.low = 0, .high = 1 << 24};
constexpr Range kBatch{.low = 0, .high = 1 << 24};
constexpr Range kUnits{.low = 1, .high = 1 << 24};
constexpr Range kPixels{.low = 0, .high = 1 << 14};
constexpr Range kThreads{.low = 0, .high = 1024};
constexpr Range kInt32{.low = 0, .high = std::numeric_limits<std::int32_t>::max()};
constexpr Range kCounted{.low = 1, .high = std::numeric_limits<std::int32_t>::max()};

std::string got(const RecipeValue& value) {
  return print_toml(value);
}

// How each type of field is read from a value.
template <class T>
T read(const RecipeValue& value);

template <>
double read<double>(const RecipeValue& value) {
  if (const auto* real = std::get_if<double>(&value); real && std::isfinite(*real)) return *real;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  fail_usage("expected a number, got {}", got(value));
}
template <>
std::int64_t read<std::int64_t>(const RecipeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  fail_usage("expected an integer, got {}", got(value));
}
template <>
std::uint64_t read<std::uint64_t>(const RecipeValue& value) {
  return static_cast<std::uint64_t>(read<std::int64_t>(value));
}
template <>
bool read<bool>(const RecipeValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  fail_usage("expected true or false, got {}", got(value));
}
template <>
std::string read<std::string>(const RecipeValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  fail_usage("expected a string, got {}", got(value));
}
template <>
std::vector<std::string> read<std::vector<std::string>>(const RecipeValue& value) {
  if (const auto* list = std::get_if<std::vector<std::string>>(&value)) return *list;
  fail_usage("expected a list of strings, got {}", got(value));
}
template <>
std::vector<Augmentation> read<std::vector<Augmentation>>(const RecipeValue& value) {
  return augmentations_of(value);
}
template <>
std::vector<std::int64_t> read<std::vector<std::int64_t>>(const RecipeValue& value) {
  std::vector<std::int64_t> integers;
  if (const auto* empty = std::get_if<std::vector<std::string>>(&value); empty && empty->empty()) {
    return integers;
  }
  const auto* numbers = std::get_if<std::vector<double>>(&value);
  if (!numbers) fail_usage("expected a list of integers, got {}", got(value));
  for (const double x : *numbers) {
    if (!kUnits.contains(x) || x != std::floor(x)) {
      fail_usage("expected integers in {}, got {}", kUnits.text(), got(value));
    }
    integers.push_back(static_cast<std::int64_t>(x));
  }
  return integers;
}

template <class T>
std::string type_name() {
  if constexpr (std::is_same_v<T, bool>) return "boolean";
  if constexpr (std::is_same_v<T, double>) return "number";
  if constexpr (std::is_same_v<T, std::string>) return "string";
  if constexpr (std::is_same_v<T, std::vector<std::string>>) return "list of strings";
  if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) return "list of integers";
  if constexpr (std::is_same_v<T, std::vector<Augmentation>>) return "list of names or tables";
  return "integer";
}

template <class T>
RecipeValue to_value(const T& field) {
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    return static_cast<std::int64_t>(field);
  } else if constexpr (std::is_same_v<T, std::vector<std::int64_t>>) {
    return std::vector<double>(field.begin(), field.end());
  } else if constexpr (std::is_same_v<T, std::vector<Augmentation>>) {
    return augmentation_value(field);
  } else {
    return field;
  }
}

class Table {
 public:
  explicit Table(std::vector<RecipeKey>& keys) : keys_(keys) {}

  // `field` is a function from a Recipe (const or not) to the field's reference.
  template <class F>
  RecipeKey& add(std::string name, F field, std::string description) {
    using T = std::decay_t<decltype(field(std::declval<Recipe&>()))>;
    RecipeKey key;
    key.name = std::move(name);
    key.type = type_name<T>();
    key.description = std::move(description);
    key.set = [field](Recipe& recipe, const RecipeValue& value) { field(recipe) = read<T>(value); };
    key.get = [field](const Recipe& recipe) {
      return to_value<T>(field(const_cast<Recipe&>(recipe)));
    };
    keys_.push_back(std::move(key));
    return keys_.back();
  }

  template <class F>
  void number(std::string name, F field, Range range, std::string description) {
    using T = std::decay_t<decltype(field(std::declval<Recipe&>()))>;
    RecipeKey& key = add(std::move(name), field, std::move(description));
    key.range = range.text();
    const auto set = key.set;
    key.set = [set, range, type = key.type](Recipe& recipe, const RecipeValue& value) {
      if (!range.contains(static_cast<double>(read<T>(value)))) {
        fail_usage("expected {} {} in {}, got {}", type == "integer" ? "an" : "a", type,
                   range.text(), got(value));
      }
      set(recipe, value);
    };
  }

  template <class F>
  void choice(std::string name, F field, std::vector<std::string> choices,
              std::string description) {
    RecipeKey& key = add(std::move(name), field, std::move(description));
    key.range = fmt::format("{}", fmt::join(choices, " \\| "));
    const auto set = key.set;
    key.set = [set, choices](Recipe& recipe, const RecipeValue& value) {
      if (std::find(choices.begin(), choices.end(), read<std::string>(value)) == choices.end()) {
        fail_usage("expected one of {}, got {}", fmt::join(choices, ", "), got(value));
      }
      set(recipe, value);
    };
  }

  // Of the key added last: `test` throws Error when the recipe now holds no possible value.
  void check(void (*test)(const Recipe&)) {
    RecipeKey& key = keys_.back();
    key.set = [set = key.set, test](Recipe& recipe, const RecipeValue& value) {
      set(recipe, value);
      test(recipe);
    };
  }

  // Marks the key added last: it does not change a run's result.
  void neutral() {
    keys_.back().neutral = true;
    keys_.back().description += " Does not change results.";
  }

  template <class F>
  void pattern(std::string name, F field, std::string description) {
    path(std::move(name), field, std::move(description));
    keys_.back().is_pattern = true;
  }

  template <class F>
  void path(std::string name, F field, std::string description) {
    add(std::move(name), field, std::move(description)).is_path = true;
  }

 private:
  std::vector<RecipeKey>& keys_;
};

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
  table.choice("model.precision", FIELD(model.precision), {"f32", "f64"},
               "Type of the arithmetic; f64 is for comparisons, and not for the cpu backend.");
  table.number("model.batch_norm_batch", FIELD(model.batch_norm_batch), kBatch,
               "Examples that share batch-norm statistics, counted over the global batch, so that "
               "it means the same at any world size; 0: 64, or the global batch where that is "
               "smaller. It must tile the global batch.");
  table.add("model.zero_init_last_gamma", FIELD(model.zero_init_last_gamma),
            "Start the last gamma of each residual block at 0.");
  table.path("model.init", FIELD(model.init),
             "Start from these values instead of random ones: a run, a checkpoint or a safetensors "
             "file; empty: random.");
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
  table.choice("optimizer.name", FIELD(optimizer.name), {"sgd", "adam"},
               "The update rule. Momentum is PyTorch's form: the rate multiplies the buffer.");
  table.number("optimizer.momentum", FIELD(optimizer.momentum), kFraction, "Of sgd; 0: none.");
  table.number("optimizer.beta1", FIELD(optimizer.beta1), kFraction, "Of adam: mean.");
  table.number("optimizer.beta2", FIELD(optimizer.beta2), kFraction, "Of adam: variance.");
  table.number("optimizer.epsilon", FIELD(optimizer.epsilon), Range{.low = 1e-30, .high = 1},
               "Of adam, added to the root of the variance.");
  table.number("optimizer.weight_decay", FIELD(optimizer.weight_decay), kFactor,
               "Times the parameter, added to its gradient.");
  table.add("optimizer.exclude", FIELD(optimizer.exclude),
            "Patterns of parameter names that take no weight decay.");
}

void add_schedule(Table& table) {
  table.choice("schedule.name", FIELD(schedule.name), {"constant", "cosine"},
               "The learning rate after the warm-up.");
  table.number("schedule.rate", FIELD(schedule.rate), kPositiveFactor, "The peak.");
  table.number("schedule.warmup_epochs", FIELD(schedule.warmup_epochs), kEpochs,
               "Epochs of linear warm-up to the peak.");
  table.number("schedule.end", FIELD(schedule.end), kFactor,
               "Of cosine: the rate of the last step.");
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
