#include "toroid/train/precision.h"

#include <array>

#include "toroid/base/error.h"
#include "toroid/base/log.h"
#include "toroid/train/checkpoint.h"
#include "toroid/train/recipe.h"
#include "toroid/train/step_bench.h"

namespace toroid {
namespace {

constexpr std::array<const char*, 2> kMeasured{"f32", "bf16"};

// The place in kMeasured of what rank 0 found recorded, or -1, on every rank: the others may look
// at the folder when it has changed already.
std::int32_t agreed(const std::optional<std::string>& recorded, Communicator& communicator) {
  std::int32_t place = -1;
  if (recorded) place = *recorded == "bf16" ? 1 : 0;
  communicator.broadcast({&place, DType::i32, 1});
  return place;
}

// Milliseconds of a step in each precision, summed over the ranks.
std::array<double, 2> measure(const StepOptions& step, Backend& backend,
                              Communicator& communicator) {
  std::array<double, 2> ms{};
  for (std::size_t i = 0; i < kMeasured.size(); ++i) {
    StepBenchOptions bench{.step = step, .steps = 3, .warm_up = 1};
    set_precision(bench.step, kMeasured[i]);
    ms[i] = bench_step(backend, bench).median_ms;
  }
  const Buffer buffer{ms.data(), DType::f64, 2};
  const ConstBuffer input = buffer;
  communicator.all_reduce_start({&input, 1}, {&buffer, 1}, communicator.size())->wait();
  return ms;
}

}  // namespace

void set_precision(StepOptions& options, const std::string& precision) {
  options.dtype = precision == "f64" ? DType::f64 : DType::f32;
  options.bf16 = precision == "bf16";
}

std::optional<std::string> recorded_precision(const std::filesystem::path& run_folder) {
  const auto folders = list_checkpoints(run_folder);
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
    try {
      const CheckpointInfo info = read_checkpoint_info(*folder);
      return parse_recipe(info.recipe, folder->string()).model.precision;
    } catch (const Error&) {  // whoever loads it will tell
    }
  }
  return std::nullopt;
}

std::string decide_precision(const StepOptions& step, const std::optional<std::string>& recorded,
                             Backend& backend, Communicator& communicator) {
  const bool reports = communicator.rank() == 0;
  if (const std::int32_t place = agreed(recorded, communicator); place >= 0) {
    const char* precision = kMeasured[static_cast<std::size_t>(place)];
    if (reports) log::info("model.precision auto: {}, as the run was begun", precision);
    return precision;
  }
  if (backend.name() != "cpu") {
    if (reports) {
      log::info("model.precision auto: f32, since the {} backend is not measured", backend.name());
    }
    return "f32";
  }
  const auto ms = measure(step, backend, communicator);
  const char* precision = kMeasured[ms[1] < ms[0] ? 1 : 0];
  if (reports) {
    log::info("model.precision auto: {}; {} takes {:.4g} ms in f32, {:.4g} ms in bf16", precision,
              step.accumulate > 1 ? "a micro-batch" : "a step", ms[0] / communicator.size(),
              ms[1] / communicator.size());
  }
  return precision;
}

}  // namespace toroid
