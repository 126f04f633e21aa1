#include "toroid/backends/backend.h"

namespace toroid {

StateSchema state_schema(const Graph& graph) {
  StateSchema schema;
  for (const Node& node : graph.nodes) {
    const auto* input = node.op.as<Input>();
    if (input != nullptr && input->kind == InputKind::kState) {
      schema.push_back({input->name, input->type});
    }
  }
  return schema;
}

}  // namespace toroid
