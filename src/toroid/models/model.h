// The models by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "toroid/models/net.h"

namespace toroid {

/// A model: from normalised images [N,H,W,C] to logits [N,classes].
using ModelFunction = Value (*)(Net& net, Value images, std::int64_t classes);

struct ModelInfo {
  std::string_view name;
  std::string_view description;
  ModelFunction build;
};

/// All models, one line each in model.cpp.
const std::vector<ModelInfo>& models();

/// Error listing the known names, nearest first, when there is no such model.
const ModelInfo& find_model(std::string_view name);

}  // namespace toroid
