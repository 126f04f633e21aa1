#include "toroid/train/step_bench_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

namespace toroid {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kBuffersShown = 5;

double mb(std::size_t bytes) {
  return static_cast<double>(bytes) / 1e6;
}

double mean_ms(const StepBenchResult& result) {
  return std::accumulate(result.step_ms.begin(), result.step_ms.end(), 0.0) /
         static_cast<double>(result.step_ms.size());
}

std::string_view precision_of(const StepOptions& step) {
  return step.bf16 ? "bf16" : name_of(step.dtype);
}

}  // namespace

std::string step_bench_json(const StepBenchOptions& options, const StepBenchResult& result) {
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
  const StepOptions& step = options.step;
  const Json document{{"model", step.model},
                      {"batch", step.global_batch},
                      {"size", step.image_height},
                      {"classes", step.classes},
                      {"dtype", precision_of(step)},
                      {"backend", options.backend.name},
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
  return document.dump() + "\n";
}

std::string step_bench_table(const StepBenchOptions& options, const StepBenchResult& result) {
  std::string text;
  const auto line = [&]<class... Args>(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
    text += '\n';
  };
  const StepOptions& step = options.step;
  line("{} {}x{} batch {} {}: {:.2f} images/s, {:.1f} ms a step (median of {})", step.model,
       step.image_height, step.image_width, step.global_batch, precision_of(step),
       result.images_per_s, result.median_ms, result.step_ms.size());
  line("first step begun after {:.2f} s, took {:.2f} s; {} parameters", result.start_s,
       result.first_step_s, result.parameters);
  const MemoryUse& memory = result.memory;
  if (memory.arena == 0) {
    line("memory: {:.0f} MB resident at most; variables {:.0f} MB", result.rss_mb, result.state_mb);
  } else {
    line(
        "memory: {:.0f} MB resident at most; arena {:.0f} MB ({:.0f} in use at {}), variables "
        "{:.0f} MB",
        result.rss_mb, mb(memory.arena), mb(memory.live), memory.busiest, result.state_mb);
  }
  for (std::size_t i = 0; i < std::min(kBuffersShown, memory.at_busiest.size()); ++i) {
    line("  {:8.1f} MB  {}", mb(memory.at_busiest[i].bytes), memory.at_busiest[i].path);
  }
  if (result.ops.empty()) {
    line("ops: the {} backend does not tell what each of them takes", options.backend.name);
    return text;
  }
  line("{:32} {:>6} {:>10} {:>7} {:>9} {:>7}", "op", "nodes", "ms", "share", "GFLOP/s", "GB/s");
  const double mean = mean_ms(result);  // as the ops' times are
  double rest = mean;
  for (const OpTime& op : result.ops) {
    rest -= op.ms;
    const double seconds = std::max(op.ms, 1e-6) / 1e3;
    line("{:32} {:6} {:10.2f} {:6.1f}% {:9.1f} {:7.1f}", op.op, op.nodes, op.ms, op.ms / mean * 100,
         op.gflops / seconds, op.gbytes / seconds);
  }
  line("{:32} {:6} {:10.2f} {:6.1f}%", "(inputs, outputs, updates)", "", rest, rest / mean * 100);
  return text;
}

}  // namespace toroid
