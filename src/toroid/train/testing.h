// Small steps for the tests of this module.
#pragma once

#include <string>
#include <utility>

#include "toroid/backends/backend.h"
#include "toroid/base/random.h"
#include "toroid/models/batch_norm_groups.h"
#include "toroid/train/step.h"

namespace toroid {

/// Sanitizers make large networks too slow to test.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

/// A quick network of three classes on 8x8 pictures, in f64.
inline StepOptions small_options(std::string model, int replicas) {
  StepOptions options;
  options.model = std::move(model);
  options.classes = 3;
  options.image_height = options.image_width = 8;
  options.channels = 1;
  options.global_batch = 12;
  options.replicas = replicas;
  options.dtype = DType::f64;
  options.batch_norm_batch = 12;
  options.label_smoothing = 0.1;
  options.optimizer.weight_decay = 1e-4;
  return options;
}

/// Rank `rank`'s slots of a global batch with `real` examples, from example `first` on.
inline Batch make_batch(const StepOptions& options, int rank, std::uint32_t first,
                        std::int64_t real) {
  const std::int64_t slots = replica_batch(options.global_batch, options.replicas);
  const Shape image{slots, options.image_height, options.image_width, options.channels};
  Batch batch{Tensor(DType::u8, image), Tensor(DType::i32, Shape{slots}),
              Tensor(DType::u32, Shape{slots}), Tensor(DType::f32, Shape{slots})};
  const auto pixels = batch.images.values<std::uint8_t>();
  const auto per_image = pixels.size() / static_cast<std::size_t>(slots);
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    const std::int64_t position = rank * slots + slot;
    if (position >= real) continue;
    const auto s = static_cast<std::size_t>(slot);
    const auto id = first + static_cast<std::uint32_t>(position);
    Random random(1, "test picture", id);
    const auto label = random.below(static_cast<std::uint32_t>(options.classes));
    for (std::size_t i = 0; i < per_image; ++i) {  // brighter with the class: easy to learn
      pixels[s * per_image + i] = static_cast<std::uint8_t>(60 * label + random.below(130));
    }
    batch.labels.values<std::int32_t>()[s] = static_cast<std::int32_t>(label);
    batch.ids.values<std::uint32_t>()[s] = id;
    batch.weights.values<float>()[s] = 1;
  }
  return batch;
}

}  // namespace toroid
