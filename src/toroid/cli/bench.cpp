#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "toroid/cli/backend_flags.h"
#include "toroid/cli/commands.h"
#include "toroid/models/model.h"
#include "toroid/report/chrome_trace.h"
#include "toroid/train/step_bench.h"

namespace toroid::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  StepBenchOptions bench;
  std::int64_t size = 224;
  std::string dtype = "f32";
  std::filesystem::path profile;
  bool json = false;
};

double mb(std::size_t bytes) {
  return static_cast<double>(bytes) / 1e6;
}

void print_json(const Flags& flags, const StepBenchResult& result) {
  Json ops = Json::array(), peak = Json::array();
  for (const OpTime& op : result.ops) {
    ops.push_back({{"op", op.op},
                   {"nodes", op.nodes},
                   {"ms", op.ms},
                   {"gflop", op.gflops},
                   {"gbytes", op.gbytes}});
  }
  for (const MemoryUse::Buffer& buffer : result.memory.at_busiest) {
    peak.push_back({{"path", buffer.path}, {"mb", mb(buffer.bytes)}});
  }
  const StepOptions& step = flags.bench.step;
  const Json document{{"model", step.model},
                      {"batch", step.global_batch},
                      {"size", flags.size},
                      {"classes", step.classes},
                      {"dtype", flags.dtype},
                      {"backend", flags.bench.backend.name},
                      {"images_per_s", result.images_per_s},
                      {"step_ms", result.median_ms},
                      {"steps_ms", result.step_ms},
                      {"start_s", result.start_s},
                      {"first_step_s", result.first_step_s},
                      {"parameters", result.parameters},
                      {"arena_mb", mb(result.memory.arena)},
                      {"live_mb", mb(result.memory.live)},
                      {"state_mb", result.state_mb},
                      {"rss_mb", result.rss_mb},
                      {"busiest", result.memory.busiest},
                      {"at_busiest", std::move(peak)},
                      {"ops", std::move(ops)}};
  fmt::print("{}\n", document.dump());
}

void print_table(const Flags& flags, const StepBenchResult& result) {
  const StepOptions& step = flags.bench.step;
  fmt::print("{} {}x{} batch {} {}: {:.2f} images/s, {:.1f} ms a step (median of {})\n", step.model,
             flags.size, flags.size, step.global_batch, flags.dtype, result.images_per_s,
             result.median_ms, result.step_ms.size());
  fmt::print("first step begun after {:.2f} s, took {:.2f} s; {} parameters\n", result.start_s,
             result.first_step_s, result.parameters);
  fmt::print(
      "memory: {:.0f} MB resident at most; arena {:.0f} MB ({:.0f} in use at {}), "
      "variables {:.0f} MB\n",
      result.rss_mb, mb(result.memory.arena), mb(result.memory.live), result.memory.busiest,
      result.state_mb);
  constexpr std::size_t kShown = 5;
  for (std::size_t i = 0; i < std::min(kShown, result.memory.at_busiest.size()); ++i) {
    const MemoryUse::Buffer& buffer = result.memory.at_busiest[i];
    fmt::print("  {:8.1f} MB  {}\n", mb(buffer.bytes), buffer.path);
  }
  if (result.ops.empty()) return;
  fmt::print("{:32} {:>6} {:>10} {:>7} {:>9} {:>7}\n", "op", "nodes", "ms", "share", "GFLOP/s",
             "GB/s");
  for (const OpTime& op : result.ops) {
    const double seconds = std::max(op.ms, 1e-6) / 1e3;
    fmt::print("{:32} {:6} {:10.2f} {:6.1f}% {:9.1f} {:7.1f}\n", op.op, op.nodes, op.ms,
               op.ms / result.median_ms * 100, op.gflops / seconds, op.gbytes / seconds);
  }
}

std::vector<TraceEvent> trace_events(const StepBenchResult& result) {
  std::vector<TraceEvent> events;
  for (const NodeEvent& event : result.events) {
    const NodeTime& node = result.nodes[static_cast<std::size_t>(event.node)];
    events.push_back({.name = node.path,
                      .category = std::string(node.op),
                      .start_us = (event.start - result.events.front().start) * 1e6,
                      .duration_us = event.seconds * 1e6,
                      .detail = fmt::format("{}: {:.3f} GFLOP, {:.1f} MB", node.op,
                                            node.cost.flops / 1e9, node.cost.bytes / 1e6)});
  }
  return events;
}

int run(Flags flags) {
  StepOptions& step = flags.bench.step;
  step.model = find_model(step.model).name;
  step.image_height = step.image_width = flags.size;
  step.batch_norm_batch = step.global_batch;
  step.bf16 = flags.dtype == "bf16";
  const StepBenchResult result = bench_step(flags.bench);
  if (!flags.profile.empty()) write_chrome_trace(flags.profile, trace_events(result));
  flags.json ? print_json(flags, result) : print_table(flags, result);
  return 0;
}

void add_step(CLI::App& bench, Context& context) {
  auto flags = std::make_shared<Flags>();
  StepOptions& step = flags->bench.step;
  step = {.model = "resnet50", .classes = 1000, .channels = 3, .global_batch = 32};
  step.optimizer = {.name = "sgd", .momentum = 0.9};
  CLI::App* command = bench.add_subcommand("step", "Time a model's training step on made pictures");
  command->footer("example: toroid bench step --model resnet8 --size 28 --channels 1 --batch 128");
  command->add_option("--model", step.model, "a model (toroid models)")->capture_default_str();
  command->add_option("--batch", step.global_batch, "examples a step")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--size", flags->size, "height and width of the pictures")
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
