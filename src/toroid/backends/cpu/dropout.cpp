#include "toroid/ops/dropout.h"

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"
#include "toroid/base/random.h"

namespace toroid::cpu {
namespace {

constexpr std::int64_t kBlocks = 64;  // of the generator, side by side
constexpr std::int64_t kTile = 4 * kBlocks;

struct Stream {
  std::uint32_t seed, key, step, id;
};

// The words of blocks first .. first + kBlocks - 1 of a stream.
TOROID_CLONES void draw_tile(const Stream& stream, std::uint32_t first, std::uint32_t* words) {
  std::uint32_t c0[kBlocks], c1[kBlocks], c2[kBlocks], c3[kBlocks];
  for (std::uint32_t i = 0; i < kBlocks; ++i) {
    c0[i] = first + i;
    c1[i] = stream.key;
    c2[i] = stream.step;
    c3[i] = stream.id;
  }
  std::uint32_t key0 = stream.seed, key1 = 0;
  for (int round = 0; round < kPhiloxRounds; ++round) {
#pragma omp simd
    for (std::int64_t i = 0; i < kBlocks; ++i) {
      philox_round(key0, key1, c0[i], c1[i], c2[i], c3[i]);
    }
    philox_next_key(key0, key1);
  }
  for (std::int64_t i = 0; i < kBlocks; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

TOROID_CLONES void apply(const float* x, const std::uint32_t* words, std::uint32_t threshold,
                         float scale, float* y, std::int64_t elements) {
#pragma omp simd
  for (std::int64_t i = 0; i < elements; ++i) y[i] = words[i] < threshold ? 0 : x[i] * scale;
}

class DropoutKernel : public Kernel {
 public:
  explicit DropoutKernel(const NodeContext& context)
      : op_(context.op<Dropout>()),
        examples_(context.inputs[0].shape[0]),
        per_example_(context.inputs[0].elements() / examples_),
        tiles_((per_example_ + kTile - 1) / kTile) {}

  void run(const Arguments& arguments) override {
    const auto* x = arguments.input<float>(0);
    const auto* ids = arguments.input<std::uint32_t>(1);
    const std::uint32_t seed = *arguments.input<std::uint32_t>(2);
    const auto step = static_cast<std::uint32_t>(*arguments.input<std::int32_t>(3));
    auto* y = arguments.output<float>();
    const std::int64_t cost = 8 * kTile;  // a draw is as much work as some eight plain elements
    parallel_ranges(examples_ * tiles_, cost, [&](std::int64_t first, std::int64_t last) {
      alignas(64) std::uint32_t words[kTile];
      for (std::int64_t t = first; t < last; ++t) {
        const std::int64_t example = t / tiles_, tile = t % tiles_;
        const std::int64_t at = example * per_example_ + tile * kTile;
        draw_tile({seed, op_.key, step, ids[example]}, static_cast<std::uint32_t>(tile * kBlocks),
                  words);
        apply(x + at, words, op_.threshold(), static_cast<float>(op_.scale()), y + at,
              std::min(kTile, per_example_ - tile * kTile));
      }
    });
  }
  Reuse reuse(std::size_t input, std::size_t) const override {
    return input == 0 ? Reuse::kOverwrite : Reuse::kNone;
  }

 private:
  Dropout op_;
  std::int64_t examples_, per_example_;
  std::int64_t tiles_;  // per example
};

}  // namespace

std::unique_ptr<Kernel> make_dropout(const NodeContext& context) {
  return std::make_unique<DropoutKernel>(context);
}

}  // namespace toroid::cpu
