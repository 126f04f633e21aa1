#include "toroid/backends/cpu/onednn.h"

#include "toroid/backends/cpu/onednn_primitive.h"

namespace toroid::cpu {

OneDnn::OneDnn() : context_(std::make_unique<Context>()) {}
OneDnn::~OneDnn() = default;

}  // namespace toroid::cpu
