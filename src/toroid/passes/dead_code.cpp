#include "toroid/passes/dead_code.h"

#include "toroid/passes/rewrite.h"

namespace toroid {

Graph remove_dead_code(const Graph& graph) {
  std::vector<bool> live(graph.nodes.size());
  for (const Binding& binding : graph.updates)
    live[static_cast<std::size_t>(binding.value.node)] = true;
  for (const Binding& binding : graph.outputs)
    live[static_cast<std::size_t>(binding.value.node)] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    if (graph.nodes[i].op.as<Input>() != nullptr) live[i] = true;
    if (!live[i]) continue;
    for (const Value value : graph.nodes[i].inputs)
      live[static_cast<std::size_t>(value.node)] = true;
  }
  Rewriter rewriter(graph);
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live[i]) rewriter.copy(static_cast<int>(i));
  }
  return rewriter.finish();
}

}  // namespace toroid
