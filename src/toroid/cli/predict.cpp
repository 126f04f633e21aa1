#include "toroid/train/predict.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "toroid/cli/backend_flags.h"
#include "toroid/cli/commands.h"

namespace toroid::cli {
namespace {

constexpr std::size_t kShown = 3;  // classes per picture in the table

struct Flags {
  std::filesystem::path run;
  std::vector<std::filesystem::path> files;
  std::string format = "table";
  BackendOptions backend;
};

void print_table(const Run& run, const std::vector<Prediction>& predictions) {
  std::size_t width = 4;
  for (const Prediction& p : predictions) width = std::max(width, p.file.string().size());
  for (const Prediction& p : predictions) {
    std::string line = fmt::format("{:{}}", p.file.string(), width);
    const auto ranked = p.ranked();
    for (std::size_t i = 0; i < std::min(kShown, ranked.size()); ++i) {
      line += fmt::format("  {} {:.1f}%", run.class_name(ranked[i]),
                          100 * p.probabilities[static_cast<std::size_t>(ranked[i])]);
    }
    fmt::print("{}\n", line);
  }
}

std::string quoted(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string text = "\"";
  for (const char c : field) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

void print_csv(const Run& run, const std::vector<Prediction>& predictions) {
  std::string header = "file,class,probability";
  for (std::size_t i = 0; i < predictions.front().probabilities.size(); ++i) {
    header += "," + quoted("p:" + run.class_name(static_cast<std::int64_t>(i)));
  }
  fmt::print("{}\n", header);
  for (const Prediction& p : predictions) {
    const auto best = p.ranked().front();
    fmt::print("{},{},{}", quoted(p.file.string()), quoted(run.class_name(best)),
               p.probabilities[static_cast<std::size_t>(best)]);
    for (const double probability : p.probabilities) fmt::print(",{}", probability);
    fmt::print("\n");
  }
}

void print_json(const Run& run, const std::vector<Prediction>& predictions) {
  auto list = nlohmann::ordered_json::array();
  for (const Prediction& p : predictions) {
    nlohmann::ordered_json probabilities;
    for (const auto label : p.ranked()) {
      probabilities[run.class_name(label)] = p.probabilities[static_cast<std::size_t>(label)];
    }
    list.push_back({{"file", p.file.string()},
                    {"class", run.class_name(p.ranked().front())},
                    {"label", p.ranked().front()},
                    {"probabilities", probabilities}});
  }
  fmt::print("{}\n", list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

int run(const Flags& flags) {
  const Run opened = open_run(flags.run);
  const auto predictions = predict(opened, flags.backend, flags.files);
  if (flags.format == "csv") {
    print_csv(opened, predictions);
  } else if (flags.format == "json") {
    print_json(opened, predictions);
  } else {
    print_table(opened, predictions);
  }
  return 0;
}

}  // namespace

void add_predict(CLI::App& app, Context& context) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("predict", "Class probabilities of pictures");
  command->footer("example: toroid predict demo-run/run demo-run/pictures/*.png --format csv");
  command->add_option("run", flags->run, "run folder")->required();
  command->add_option("files", flags->files, "JPEG or PNG files")->required();
  command->add_option("--format", flags->format, "table, csv or json")
      ->check(CLI::IsMember({"table", "csv", "json"}))
      ->capture_default_str();
  add_backend_flags(*command, flags->backend);
  command->callback([flags, &context] { context.action = [flags] { return run(*flags); }; });
}

}  // namespace toroid::cli
