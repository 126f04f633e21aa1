#include "toroid/data/prepare/prepare.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <memory>

#include "toroid/base/error.h"
#include "toroid/cli/commands.h"

namespace toroid::cli {
namespace {

// CLI11 takes -1 for a large number, and what is too large for the largest.
std::string unsigned_number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return "";
  return fmt::format("{} is no whole number from 0 to 2^64 - 1", text);
}

void add_common(CLI::App& command, PrepareOptions& options) {
  command.add_option("--validation", options.validation, "fraction of the pictures to validate on")
      ->check(CLI::Range(0.0, 1.0));
  command.add_option("--seed", options.seed, "of that choice and of the records' order")
      ->check(unsigned_number)
      ->capture_default_str();
  command.add_option("--shard-size", options.shard_size, "records in a shard, at most")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  command.add_option("--size", options.size, "resize and crop to this square; 0: as they are")
      ->check(CLI::Range(0, 1 << 14));
  command.add_option("--quality", options.quality, "of JPEG pictures that are encoded again")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command.add_option("--jobs", options.jobs, "threads; 0: what the machine gives")
      ->check(CLI::Range(0, 1024));
}

template <class Options>
void on_chosen(CLI::App& command, Context& context, std::shared_ptr<Options> options,
               DatasetInfo (*prepare)(const Options&)) {
  command.callback([options, prepare, &context] {
    context.action = [options, prepare] {
      fmt::print("{}", summary_text(prepare(*options)));
      return 0;
    };
  });
}

// IMAGES LABELS [IMAGES LABELS]... OUT, with one --split-name for each pair.
void arrange_pairs(PrepareIdxOptions& options, const std::vector<std::filesystem::path>& paths,
                   const std::vector<std::string>& splits) {
  if (paths.size() < 3 || paths.size() % 2 == 0) {
    fail_usage("prepare idx: expected IMAGES LABELS [IMAGES LABELS]... OUT, got {} paths",
               paths.size());
  }
  const std::size_t pairs = paths.size() / 2;
  if (splits.size() != pairs && !(splits.empty() && pairs == 1)) {
    fail_usage("prepare idx: {} pairs of files, but {} --split-name; give one for each pair", pairs,
               splits.size());
  }
  options.out = paths.back();
  for (std::size_t i = 0; i < pairs; ++i) {
    options.pairs.push_back({paths[2 * i], paths[2 * i + 1], splits.empty() ? "train" : splits[i]});
  }
}

void add_idx(CLI::App& prepare, Context& context) {
  auto options = std::make_shared<PrepareIdxOptions>();
  auto paths = std::make_shared<std::vector<std::filesystem::path>>();
  auto splits = std::make_shared<std::vector<std::string>>();
  CLI::App* command = prepare.add_subcommand("idx", "IDX files (the format of MNIST), also .gz");
  command->footer(
      "example: toroid prepare idx train-images-idx3-ubyte.gz train-labels-idx1-ubyte.gz data "
      "--validation 0.1");
  command->add_option("paths", *paths, "IMAGES LABELS [IMAGES LABELS]... OUT")->required();
  command->add_option("--split-name", *splits, "train, validation or test; one for each pair")
      ->allow_extra_args(false);
  command->add_option("--class-names", options->class_names, "NAME,NAME,... in order of the labels")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_common(*command, *options);
  command->callback([options, paths, splits, &context] {
    context.action = [options, paths, splits] {
      arrange_pairs(*options, *paths, *splits);
      fmt::print("{}", summary_text(prepare_idx(*options)));
      return 0;
    };
  });
}

void add_folder(CLI::App& prepare, Context& context) {
  auto options = std::make_shared<PrepareFolderOptions>();
  CLI::App* command = prepare.add_subcommand("folder", "One class per folder");
  command->footer("example: toroid prepare folder pictures data --validation 0.2 --size 224");
  command->add_option("source", options->source, "folder with a folder for each class")->required();
  command->add_option("out", options->out, "folder of the data set, empty or new")->required();
  add_common(*command, *options);
  on_chosen(*command, context, options, prepare_folder);
}

void add_csv(CLI::App& prepare, Context& context) {
  auto options = std::make_shared<PrepareCsvOptions>();
  CLI::App* command = prepare.add_subcommand("csv", "A table of pictures and labels");
  command->footer(
      "example: toroid prepare csv labels.csv data --images pictures --label-column level "
      "--validation 0.2 --group-column patient");
  command->add_option("table", options->table, "CSV with a header line")->required();
  command->add_option("out", options->out, "folder of the data set, empty or new")->required();
  command->add_option("--images", options->images, "folder of the pictures")->required();
  command->add_option("--image-column", options->image_column, "")->capture_default_str();
  command->add_option("--label-column", options->label_column, "")->capture_default_str();
  command->add_option("--group-column", options->group_column,
                      "rows with the same value go to the same split");
  command->add_option("--split-column", options->split_column, "train, validation or test");
  add_common(*command, *options);
  on_chosen(*command, context, options, prepare_csv);
}

}  // namespace

void add_prepare(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("prepare", "Turn labelled pictures into TFRecord shards");
  command->require_subcommand(1);
  add_idx(*command, context);
  add_folder(*command, context);
  add_csv(*command, context);
}

}  // namespace toroid::cli
