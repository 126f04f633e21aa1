#include <CLI/CLI.hpp>
#include <memory>

#include "toroid/base/error.h"
#include "toroid/base/file.h"
#include "toroid/cli/commands.h"
#include "toroid/data/dataset.h"

namespace toroid::cli {
namespace {

struct Flags {
  std::vector<std::string> paths;
  std::int64_t count = 10;
  std::filesystem::path save;
};

// A folder stands for its shards.
std::string pattern_of(const std::string& path) {
  return std::filesystem::is_directory(path) ? path + "/*.tfrecord" : path;
}

int list(const Flags& flags) {
  for (const std::string& path : flags.paths) {
    const Dataset dataset = Dataset::open(pattern_of(path));
    const auto size = dataset.height() > 0 ? fmt::format("{}x{}", dataset.height(), dataset.width())
                                           : std::string("mixed or unknown size");
    fmt::print("{}: {} records in {} shards, {} classes, {}, {} channel{}\n", path, dataset.size(),
               dataset.shards().size(), dataset.classes(), size, dataset.channels(),
               dataset.channels() == 1 ? "" : "s");
  }
  return 0;
}

std::string class_name(const Dataset& dataset, std::int64_t label) {
  const auto& names = dataset.class_names();
  const auto index = static_cast<std::size_t>(label);
  return label >= 0 && index < names.size() ? names[index] : std::to_string(label);
}

// Letters and digits stay, so that a class name makes a file name.
std::string file_part(std::string name) {
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  }
  return name;
}

int show(const Flags& flags) {
  std::vector<std::filesystem::path> files;
  for (const std::string& path : flags.paths) {
    for (const auto& file : glob(pattern_of(path))) files.push_back(file);
  }
  std::int64_t left = flags.count;
  if (!flags.save.empty()) std::filesystem::create_directories(flags.save);
  for (const auto& file : files) {
    const Dataset dataset = Dataset::open(file.string());
    for (std::uint32_t id = 0; id < dataset.size() && left > 0; ++id, --left) {
      const Example example = dataset.read(id);
      const std::string name = class_name(dataset, example.label);
      fmt::print("{}  label {} ({})  {}  {} bytes  {}\n", dataset.describe(id), example.label, name,
                 example.format, example.encoded.size(), example.filename);
      if (flags.save.empty()) continue;
      const auto target =
          flags.save / fmt::format("{:03}-{}.{}", flags.count - left, file_part(name),
                                   example.format == "jpeg" ? "jpg" : example.format);
      write_file(target, example.encoded);
    }
  }
  return 0;
}

}  // namespace

void add_data(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("data", "Look into data sets");
  command->require_subcommand(1);
  auto flags = std::make_shared<Flags>();
  CLI::App* ls = command->add_subcommand("ls", "Records, classes and sizes of data sets");
  ls->footer("example: toroid data ls demo-run/data");
  ls->add_option("paths", flags->paths, "folders or patterns of shards")->required();
  ls->callback([flags, &context] { context.action = [flags] { return list(*flags); }; });

  CLI::App* look = command->add_subcommand("show", "The first records of shards");
  look->footer("example: toroid data show demo-run/data/validation-*.tfrecord --count 3 --save .");
  look->add_option("paths", flags->paths, "folders or patterns of shards")->required();
  look->add_option("--count", flags->count, "records to show")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  look->add_option("--save", flags->save, "write the pictures, as they are stored, to this folder");
  look->callback([flags, &context] { context.action = [flags] { return show(*flags); }; });
}

}  // namespace toroid::cli
