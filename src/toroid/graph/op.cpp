#include "toroid/graph/op.h"

namespace toroid {

Cost memory_cost(Types inputs, Types outputs, double flops) {
  Cost cost{.flops = flops};
  for (const TensorType& type : inputs) cost.bytes += static_cast<double>(type.bytes());
  for (const TensorType& type : outputs) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

}  // namespace toroid
