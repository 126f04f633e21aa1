#include <CLI/CLI.hpp>
#include <memory>

#include "toroid/cli/backend_flags.h"
#include "toroid/cli/commands.h"
#include "toroid/report/chrome_trace.h"
#include "toroid/train/step_bench_report.h"

namespace toroid::cli {
namespace {

struct Flags {
  StepBenchOptions bench;
  std::string dtype = "f32";
  std::filesystem::path profile;
  bool json = false;
};

int run(Flags flags) {
  StepOptions& step = flags.bench.step;
  step.image_width = step.image_height;
  step.bf16 = flags.dtype == "bf16";
  flags.bench.trace = !flags.profile.empty();
  const StepBenchResult result = bench_step(flags.bench);
  if (flags.bench.trace) write_chrome_trace(flags.profile, result.trace);
  fmt::print("{}", flags.json ? step_bench_json(flags.bench, result)
                              : step_bench_table(flags.bench, result));
  return 0;
}

void add_step(CLI::App& bench, Context& context) {
  auto flags = std::make_shared<Flags>();
  StepOptions& step = flags->bench.step;
  step = {
      .model = "resnet50", .classes = 1000, .image_height = 224, .channels = 3, .global_batch = 32};
  step.optimizer = {.name = "sgd", .momentum = 0.9};
  CLI::App* command = bench.add_subcommand("step", "Time a model's training step on made pictures");
  command->footer("example: toroid bench step --model resnet8 --size 28 --channels 1 --batch 128");
  command->add_option("--model", step.model, "a model (toroid models)")->capture_default_str();
  command->add_option("--batch", step.global_batch, "examples a step")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--size", step.image_height, "height and width of the pictures")
      ->check(CLI::Range(1, 1 << 14))
      ->capture_default_str();
  command->add_option("--channels", step.channels, "1 or 3")
      ->check(CLI::IsMember({1, 3}))
      ->capture_default_str();
  command->add_option("--classes", step.classes, "outputs")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command->add_option("--head", step.head, "widths of dense layers before the classifier");
  command->add_option("--dtype", flags->dtype, "f32 or bf16")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  command->add_option("--steps", flags->bench.steps, "timed steps")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--warm-up", flags->bench.warm_up, "steps before them, at least 1")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_flag("--json", flags->json, "one JSON document on standard output");
  command->add_option("--profile", flags->profile,
                      "write the last step's nodes as a trace for chrome://tracing or Perfetto");
  add_backend_flags(*command, flags->bench.backend);
  command->callback([flags, &context] { context.action = [flags] { return run(*flags); }; });
}

}  // namespace

void add_bench(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("bench", "Measure this program on this machine");
  command->require_subcommand(1);
  command->footer("example: toroid bench step --model resnet50 --batch 8");
  add_step(*command, context);
}

}  // namespace toroid::cli
