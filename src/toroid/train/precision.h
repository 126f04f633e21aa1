// What a run computes in: model.precision, and what becomes of "auto".
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "toroid/backends/backend.h"
#include "toroid/comm/communicator.h"
#include "toroid/train/step.h"

namespace toroid {

/// Sets dtype and bf16 from a value of model.precision; "auto", before it is decided, is f32.
void set_precision(StepOptions& options, const std::string& precision);

/// The precision that the run in this folder has been trained with, as its newest readable
/// checkpoint says it; nothing where there is none.
std::optional<std::string> recorded_precision(const std::filesystem::path& run_folder);

/// Decides "auto" for a run of these steps, alike on all ranks, which call it together: what rank 0
/// finds recorded, else the faster of f32 and bf16 over a few training steps of each on made
/// pictures, one engine after the other. f32 on backends other than cpu, which are not measured.
/// Rank 0 logs a line with the reason.
std::string decide_precision(const StepOptions& step, const std::optional<std::string>& recorded,
                             Backend& backend, Communicator& communicator);

}  // namespace toroid
