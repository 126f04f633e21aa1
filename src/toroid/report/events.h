// Scalars for TensorBoard (docs/formats/events.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "toroid/report/append_file.h"
#include "toroid/report/named_value.h"

namespace toroid {

/// Writes one event file, `folder`/events.out.tfevents.<seconds>.<host>.<pid>, which sorts after
/// those that are there. Each attempt at a run writes its own, so what a killed process left
/// unfinished ends its file and hides nothing.
class EventWriter {
 public:
  /// With `resumed_step` = N, tells TensorBoard to drop what earlier attempts logged for steps
  /// after N; without, to drop everything that they logged.
  explicit EventWriter(const std::filesystem::path& folder,
                       std::optional<std::int64_t> resumed_step = std::nullopt);

  /// One event with all values, in the file on return. Values become f32; NaN and infinities stay.
  void write(std::int64_t step, const NamedValues& values);

  const std::filesystem::path& path() const { return file_.path(); }

 private:
  AppendFile file_;
};

}  // namespace toroid
