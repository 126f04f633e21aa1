#include "toroid/train/recipe.h"

#include <gtest/gtest.h>

#include "toroid/base/file.h"
#include "toroid/base/testing.h"
#include "toroid/train/recipe_keys.h"

namespace toroid {
namespace {

constexpr const char* kSmall =
    "[model]\nname = \"mlp\"\n"
    "[data]\ntrain = \"data/train-*.tfrecord\"\n"
    "[train]\nepochs = 2\nglobal_batch = 8\n";

class RecipeFile : public testing::Test {
 protected:
  Recipe load(const std::string& text, const std::vector<std::string>& assignments = {}) {
    write_file(path_, text);
    return load_recipe(path_, assignments);
  }
  // The small recipe with `text` behind it, whose first line is line 8.
  Recipe load_more(const std::string& text) { return load(kSmall + text); }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "r.toml";
};

TEST_F(RecipeFile, LeavesDefaultsWhereItSaysNothing) {
  const Recipe recipe = load(kSmall);
  EXPECT_EQ(recipe.model.name, "mlp");
  EXPECT_EQ(recipe.train.epochs, 2.0);  // an integer serves as a number
  EXPECT_EQ(recipe.optimizer.momentum, 0.9);
  EXPECT_EQ(recipe.checkpoint.best, "validation.top1");
}

TEST_F(RecipeFile, PathsAreRelativeToItsFolderAndAssignmentsToTheWorkingDirectory) {
  EXPECT_EQ(load(kSmall).data.train, (folder_ / "data/train-*.tfrecord").string());
  EXPECT_EQ(load(kSmall, {"data.train=other/x"}).data.train, "other/x");
}

TEST_F(RecipeFile, OnlyTheRecipesOwnPatternMatchesNotTheNamesOfItsFolder) {
  path_ = folder_ / "run [1]*" / "r.toml";
  std::filesystem::create_directories(path_.parent_path());
  write_file(path_.parent_path() / "a-1", "");
  const Recipe made = load(
      "[model]\nname = \"mlp\"\n[data]\ntrain = \"a-[0-9]\"\n[train]\nepochs = 1\nglobal_batch = 8",
      {"model.init=" + (folder_ / "w[1]").string()});
  EXPECT_EQ(glob(made.data.train).size(), 1U) << made.data.train;
  EXPECT_EQ(made.model.init, (folder_ / "w[1]").string());
}

TEST_F(RecipeFile, PathsThatAreNotUtf8CannotBePrinted) {
  const Recipe recipe = load(kSmall, {"data.train=caf\xe9/x"});
  EXPECT_ERROR(to_toml(recipe), "data.train: the path ");
}

TEST_F(RecipeFile, EveryNumberHasARangeThatLeavesRoomForArithmetic) {
  for (const RecipeKey& key : recipe_keys()) {
    if (key.type != "integer" && key.type != "number") continue;
    const bool seed = key.name == "train.seed";  // all of its values are
    const std::string huge = key.type == "number" ? "1e300" : "9223372036854775807";
    if (!seed) EXPECT_ERROR(load(kSmall, {key.name + "=" + huge}), "expected a");
  }
  Recipe recipe = load(kSmall);
  recipe.train.epochs = 1e6;
  EXPECT_ERROR(recipe.span(1 << 30, 1), "at most 2^31 - 1");
}

TEST_F(RecipeFile, NamesAreCheckedWhereTheyStand) {
  EXPECT_ERROR(load(kSmall, {"model.name=mpl"}),
               "--set: model.name: unknown model \"mpl\": did you mean \"mlp\"?");
  EXPECT_ERROR(load(kSmall, {"data.augment=[\"blur\"]"}), "augmentation \"blur\" is unknown");
  EXPECT_ERROR(load(kSmall, {"train.epochs=1\n[x]\ny=2"}), "--set train.epochs: sets more");
}

TEST_F(RecipeFile, AssignmentsWinAndMayLeaveOutQuotes) {
  const Recipe recipe =
      load(kSmall, {"model.name=cnn", "train.epochs=3", "data.augment=[\"flip_horizontal\"]",
                    "optimizer.weight_decay=1e-4"});
  EXPECT_EQ(recipe.model.name, "cnn");
  EXPECT_EQ(recipe.train.epochs, 3.0);
  EXPECT_EQ(recipe.data.augment, std::vector<Augmentation>{{"flip_horizontal"}});
  EXPECT_EQ(recipe.optimizer.weight_decay, 1e-4);
}

TEST_F(RecipeFile, UnknownKeysNameLineAndNearestKey) {
  EXPECT_ERROR(load_more("epochz = 3\n"),
               "r.toml:8: unknown key \"train.epochz\": did you mean "
               "\"train.epochs\"?");
  EXPECT_ERROR(load_more("[zzzzzz]\nqqqqq = 3\n"), "docs/recipes.md lists all keys");
  EXPECT_ERROR(load(kSmall, {"train.epoch=3"}), "--set: unknown key \"train.epoch\"");
}

TEST_F(RecipeFile, WrongTypesAndRangesNameLineKeyAndWhatWasExpected) {
  EXPECT_ERROR(load_more("seed = \"one\"\n"),
               "r.toml:8: train.seed: expected an integer, got 'one'");
  EXPECT_ERROR(load_more("label_smoothing = 1\n"),
               "r.toml:8: train.label_smoothing: expected a number in [0, 1), got 1");
  EXPECT_ERROR(load_more("[optimizer]\nname = \"sgdd\"\n"),
               "r.toml:9: optimizer.name: expected one of sgd, adam, adamw, got 'sgdd'");
  EXPECT_ERROR(load_more("[data]\n"), "r.toml:8: not valid TOML");
  EXPECT_ERROR(load_more("log_every = 1979-05-27\n"), "date or time is no value for a recipe");
  EXPECT_ERROR(load(kSmall, {"data.augment=[1]"}),
               "--set: data.augment: expected a list of names or tables, got [1]");
  EXPECT_ERROR(load(kSmall, {"schedule.rate=nan"}), "expected a number");
  EXPECT_ERROR(load(kSmall, {"nonsense"}), "--set nonsense: expected KEY=VALUE");
}

TEST_F(RecipeFile, TheHeadIsAListOfWidths) {
  EXPECT_EQ(load(kSmall, {"model.head=[1024, 64]"}).model.head,
            (std::vector<std::int64_t>{1024, 64}));
  EXPECT_TRUE(load(kSmall, {"model.head=[]"}).model.head.empty());
  EXPECT_ERROR(load(kSmall, {"model.head=1024"}),
               "--set: model.head: expected a list of integers, got 1024");
  EXPECT_ERROR(load(kSmall, {"model.head=[\"wide\"]"}), "expected a list of integers");
  EXPECT_ERROR(load(kSmall, {"model.head=[64, 0]"}),
               "expected integers in [1, 16777216], got [64, 0]");
  EXPECT_ERROR(load(kSmall, {"model.head=[1.5]"}), "expected integers in [1, 16777216], got [1.5]");
  EXPECT_ERROR(load(kSmall, {"model.head=[64, \"wide\"]"}),
               "expected a list of strings or a list of numbers");
}

TEST_F(RecipeFile, PrecisionIsF32UnlessStatedAndFastConvolutionsAreOn) {
  EXPECT_EQ(load(kSmall).model.precision, "f32");
  EXPECT_TRUE(load(kSmall).model.fast_convolutions);
  for (const std::string precision : {"f32", "bf16", "auto", "f64"}) {
    EXPECT_EQ(load(kSmall, {"model.precision=" + precision}).model.precision, precision);
  }
  EXPECT_FALSE(load(kSmall, {"model.fast_convolutions=false"}).model.fast_convolutions);
  EXPECT_ERROR(load(kSmall, {"model.precision=f16"}),
               "--set: model.precision: expected one of f32, bf16, auto, f64, got 'f16'");
  const Recipe direct = load(kSmall, {"model.fast_convolutions=false", "model.precision=bf16"});
  EXPECT_EQ(result_changing_keys(load(kSmall), direct),
            (std::vector<std::string>{"model.precision", "model.fast_convolutions"}));
}

TEST_F(RecipeFile, AugmentIsAListOfNamesAndTables) {
  const Recipe recipe =
      load(kSmall, {"data.augment=[\"flip_vertical\", {name = \"random_resized_crop\", "
                    "area = [0.25, 1]}, {name = \"random_crop\", padding = 8}]"});
  const Augmentation crop{.name = "random_resized_crop", .area = {0.25, 1}};
  const Augmentation padded{.name = "random_crop", .padding = 8};
  EXPECT_EQ(recipe.data.augment, (std::vector<Augmentation>{{"flip_vertical"}, crop, padded}));
  const Recipe again = parse_recipe(to_toml(recipe), "again");
  EXPECT_EQ(again.data.augment, recipe.data.augment);
  EXPECT_TRUE(result_changing_keys(again, recipe).empty());

  const auto refused = [&](const std::string& entry, const std::string& text) {
    EXPECT_ERROR(load(kSmall, {"data.augment=[" + entry + "]"}), "--set: data.augment: " + text);
  };
  refused("{name = \"random_crop\", paddding = 8}",
          "random_crop has no parameter \"paddding\"; it has size, padding");
  refused("{name = \"random_crop\", padding = \"8\"}",
          "random_crop: padding: expected a number or a list of numbers");
  refused("{name = \"random_crop\", padding = 0.5}", "random_crop: padding: expected an integer");
  refused("{padding = 8}, \"resize\"", "expected a name, or a table with a name");
}

TEST_F(RecipeFile, ANameAndATableOfItsDefaultsAreTheSameRecipe) {
  const Recipe name = load(kSmall, {"data.augment=[\"random_crop\"]"});
  const Recipe table =
      load(kSmall, {"data.augment=[{name = \"random_crop\", padding = 4, size = 0}]"});
  EXPECT_TRUE(result_changing_keys(name, table).empty());
}

TEST_F(RecipeFile, TrainingPicturesAreSizedAsInEvaluationWhereNothingElseSizesThem) {
  const Recipe recipe =
      load(kSmall, {"data.augment=[\"flip_horizontal\"]", "data.crop_fraction=0.875"});
  const Augmentation centre{.name = "centre_crop", .fraction = 0.875};
  EXPECT_EQ(recipe.evaluation_pictures(), std::vector<Augmentation>{centre});
  EXPECT_EQ(recipe.training_pictures(), (std::vector<Augmentation>{centre, {"flip_horizontal"}}));
  const Recipe cropped =
      load(kSmall, {"data.augment=[\"random_resized_crop\"]", "data.evaluate=\"resize\""});
  EXPECT_EQ(cropped.training_pictures(), std::vector<Augmentation>{{"random_resized_crop"}});
  EXPECT_EQ(cropped.evaluation_pictures(), std::vector<Augmentation>{{"resize"}});
}

TEST_F(RecipeFile, SizesThatDoNotFitTogetherAreRefused) {
  EXPECT_ERROR(load(kSmall, {"data.image_size=128",
                             "data.augment=[{name = \"resize\", size = 146}, \"random_crop\"]"}),
               "data.augment leaves pictures of 146 x 146 pixels, but data.image_size is 128");
  EXPECT_ERROR(
      load(kSmall, {"data.image_size=128", "data.augment=[{name = \"random_crop\", size = 146}]"}),
      "data.augment: random_crop takes 146 x 146 pixels of a picture that has 128 x 128");
  EXPECT_ERROR(load(kSmall, {"data.evaluate=\"resize\"", "data.crop_fraction=0.875"}),
               "data.crop_fraction = 0.875 needs data.evaluate = \"centre_crop\"");
}

TEST_F(RecipeFile, MultipliersAreATableOfNumbers) {
  using Multipliers = std::map<std::string, double>;
  const std::string inline_table = "[optimizer]\nmultipliers = { \"head/*\" = 10, stem = 0.5 }\n";
  EXPECT_EQ(load_more(inline_table).optimizer.multipliers,
            (Multipliers{{"head/*", 10}, {"stem", 0.5}}));
  EXPECT_EQ(load_more("[optimizer.multipliers]\n'*/v1.5' = 2.0\n").optimizer.multipliers,
            (Multipliers{{"*/v1.5", 2}}));
  // One item of an assignment joins those of the file; a whole table replaces them.
  const std::string text = kSmall + inline_table;
  for (const char* quoted : {"'head/*'", "\"head/*\"", "head/*"}) {
    const std::string item = fmt::format("optimizer.multipliers.{}=3", quoted);
    EXPECT_EQ(load(text, {item}).optimizer.multipliers,
              (Multipliers{{"head/*", 3}, {"stem", 0.5}}));
  }
  EXPECT_EQ(load(text, {"optimizer.multipliers={'x/*' = 2}"}).optimizer.multipliers,
            (Multipliers{{"x/*", 2}}));
  const Recipe recipe = load(text);
  EXPECT_EQ(parse_recipe(to_toml(recipe), "again").optimizer.multipliers,
            recipe.optimizer.multipliers);
  EXPECT_ERROR(
      load(kSmall, {"optimizer.multipliers.head=-1"}),
      "--set: optimizer.multipliers: expected numbers in [0, 1000000], got { 'head' = -1.0 }");
  EXPECT_ERROR(load(kSmall, {"optimizer.multipliers.head=big"}),
               "--set: optimizer.multipliers.head: expected a number, got 'big'");
  EXPECT_ERROR(load(kSmall, {"optimizer.multipliers=2"}), "expected a table of numbers, got 2");
  EXPECT_ERROR(load(kSmall, {"optimizer.multipliers={x = 'y'}"}), "expected a table of numbers");
}

TEST_F(RecipeFile, MilestonesAreAListOfNumbers) {
  const Recipe recipe = load(kSmall, {"schedule.milestones=[30, 60.5]"});
  EXPECT_EQ(recipe.schedule.milestones, (std::vector<double>{30, 60.5}));
  EXPECT_EQ(parse_recipe(to_toml(recipe), "again").schedule.milestones, recipe.schedule.milestones);
  EXPECT_ERROR(load(kSmall, {"schedule.milestones=[30, -1]"}), "expected numbers in [0, 1000000]");
  EXPECT_ERROR(load(kSmall, {"schedule.milestones=30"}), "expected a list of numbers, got 30");
}

TEST_F(RecipeFile, MissingKeysAreNamedWithAnExample) {
  EXPECT_ERROR(load(""), "r.toml: the key model.name is missing; for example: name = \"resnet8\"");
  EXPECT_ERROR(load("[model]\nname = \"mlp\"\n[data]\ntrain = \"x\"\n"),
               "the key train.epochs is missing");
  EXPECT_ERROR(load_more("batch_per_worker = 4\n"),
               "give one of train.global_batch and train.batch_per_worker, not both");
  EXPECT_ERROR(load_more("steps = 4\n"), "give train.epochs or train.steps, not both");
}

TEST_F(RecipeFile, WhatIsPrintedReadsBackTheSame) {
  const Recipe recipe =
      load(kSmall, {"optimizer.weight_decay=0.1", "schedule.rate=3e-7", "model.head=[1024]",
                    "train.seed=77", "model.init=we \"quote\".safetensors"});
  const std::string text = to_toml(recipe);
  const Recipe again = parse_recipe(text, "again");
  EXPECT_EQ(to_toml(again), text);
  EXPECT_EQ(again.optimizer.weight_decay, 0.1);
  EXPECT_EQ(again.schedule.rate, 3e-7);
  EXPECT_EQ(again.model.head, std::vector<std::int64_t>{1024});
  EXPECT_TRUE(result_changing_keys(recipe, recipe).empty());
}

TEST_F(RecipeFile, OnlyKeysThatChangeResultsCountAsDifferent) {
  const Recipe a = load(kSmall);
  const Recipe b = load(
      kSmall, {"train.seed=2", "data.threads=7", "train.log_every=3", "optimizer.momentum=0.5"});
  EXPECT_EQ(result_changing_keys(a, b),
            (std::vector<std::string>{"train.seed", "optimizer.momentum"}));
}

TEST(RecipeKeys, EveryKeyHasADescriptionAndADefaultThatItAccepts) {
  for (const RecipeKey& key : recipe_keys()) {
    EXPECT_FALSE(key.description.empty()) << key.name;
    Recipe recipe;
    const RecipeValue value = key.get(recipe);
    if (const auto* text = std::get_if<std::string>(&value); text && text->empty()) continue;
    EXPECT_NO_THROW(key.set(recipe, value)) << key.name;
    EXPECT_EQ(key.get(recipe), value) << key.name;
  }
}

TEST(Recipe, AnEpochThatDoesNotDivideHasASmallerLastBatch) {
  Recipe recipe;
  recipe.train.epochs = 2;
  const ScheduleSpan span = recipe.span(101, 25);
  EXPECT_EQ(span.steps_per_epoch, 5);
  EXPECT_EQ(span.total_steps, 10);
}

}  // namespace
}  // namespace toroid
