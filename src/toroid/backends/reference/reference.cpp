#include "toroid/backends/reference/reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "toroid/backends/host_io.h"
#include "toroid/backends/host_state.h"
#include "toroid/backends/reference/kernels.h"
#include "toroid/base/error.h"

namespace toroid {
namespace {

using reference::Kernel;
using reference::KernelCall;

// For each node the nodes whose results are no longer needed once it ran. What a collective reads
// is needed until its done; updates and outputs are needed to the end.
std::vector<std::vector<std::size_t>> last_uses(const Graph& graph) {
  const std::size_t size = graph.nodes.size();
  std::vector<std::size_t> last(size);
  for (std::size_t i = size; i-- > 0;) {
    const Node& node = graph.nodes[i];
    last[i] = std::max(last[i], i);
    const CollectiveRole::Kind role = node.op.collective().kind;
    const std::size_t until = role == CollectiveRole::Kind::kStart ? last[i] : i;
    for (const Value value : node.inputs) {
      auto& operand = last[static_cast<std::size_t>(value.node)];
      operand = std::max(operand, until);
    }
  }
  for (const auto* bindings : {&graph.updates, &graph.outputs}) {
    for (const Binding& binding : *bindings) {
      last[static_cast<std::size_t>(binding.value.node)] = size;
    }
  }
  std::vector<std::vector<std::size_t>> freed(size);
  for (std::size_t i = 0; i < size; ++i) {
    if (last[i] < size) freed[last[i]].push_back(i);
  }
  return freed;
}

// Runs a kernel; one with bf16 operands or results in f32, rounding the results.
void run_kernel(Kernel kernel, const KernelCall& call) {
  const auto is_bf16 = [](const Tensor* tensor) { return tensor->dtype() == DType::bf16; };
  const bool exact = std::none_of(call.inputs.begin(), call.inputs.end(), is_bf16) &&
                     std::none_of(call.outputs.begin(), call.outputs.end(), is_bf16);
  if (exact || call.request != nullptr) return kernel(call);
  std::vector<Tensor> inputs, outputs;
  for (const Tensor* tensor : call.inputs) {
    inputs.push_back(is_bf16(tensor) ? tensor->converted(DType::f32) : *tensor);
  }
  for (const Tensor* tensor : call.outputs) {
    outputs.emplace_back(is_bf16(tensor) ? DType::f32 : tensor->dtype(), tensor->shape());
  }
  std::vector<const Tensor*> wide_inputs;
  std::vector<Tensor*> wide_outputs;
  for (const Tensor& tensor : inputs) wide_inputs.push_back(&tensor);
  for (Tensor& tensor : outputs) wide_outputs.push_back(&tensor);
  kernel({call.op, wide_inputs, wide_outputs, call.communicator, nullptr});
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    *call.outputs[k] = outputs[k].converted(call.outputs[k]->dtype());
  }
}

class ReferenceExecutable : public Executable {
 public:
  ReferenceExecutable(const Graph& graph, Communicator& communicator)
      : graph_(graph), freed_(last_uses(graph)), communicator_(communicator) {
    if (graph.mesh.data != communicator.size()) {
      fail("reference: the graph is for {} replicas, this world has {} ranks", graph.mesh.data,
           communicator.size());
    }
    check_inputs(graph);
    for (const Node& node : graph.nodes) {
      kernels_.push_back(reference::find_kernel(node.op.name()));
      if (kernels_.back() == nullptr && node.op.as<Input>() == nullptr) {
        fail("reference: {}: there is no kernel for {}", node.path, node.op.name());
      }
    }
  }

  const Outputs& run(State& state, std::span<const Batch> batches,
                     const Scalars& scalars) override {
    HostState& variables = host_state_for(graph_, state);
    const Batch* batch = only_batch(graph_, batches);
    Run run(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto* input = graph_.nodes[i].op.as<Input>();
      if (input != nullptr) {
        run.values[i].push_back(input_value(*input, variables, batch, scalars));
      } else {
        run_node(i, run);
      }
      for (const std::size_t unused : freed_[i]) run.values[unused].clear();
    }
    for (const Binding& output : graph_.outputs) outputs_[output.name] = run.at(output.value);
    for (const Binding& update : graph_.updates) {
      variables.tensor(update.name) = run.at(update.value);
    }
    return outputs_;
  }

 private:
  // What one step holds. Requests go before the buffers that they may still touch.
  struct Run {
    explicit Run(std::size_t nodes) : values(nodes), requests(nodes) {}
    const Tensor& at(Value value) const {
      return values[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.index)];
    }
    std::vector<std::vector<Tensor>> values;         // by node and output
    std::vector<std::unique_ptr<Request>> requests;  // by start node
  };

  static Tensor input_value(const Input& input, const HostState& variables, const Batch* batch,
                            const Scalars& scalars) {
    switch (input.kind) {
      case InputKind::kState:
        return variables.tensor(input.name);
      case InputKind::kBatch:
        return batch_tensor(input, *batch).converted(input.type.dtype);
      case InputKind::kScalar:
        return scalar_tensor(input, scalars);
    }
    return {};
  }

  void run_node(std::size_t i, Run& run) const {
    const Node& node = graph_.nodes[i];
    std::vector<const Tensor*> inputs;
    std::vector<Tensor*> outputs;
    for (const Value value : node.inputs) inputs.push_back(&run.at(value));
    for (const TensorType& type : node.types) run.values[i].emplace_back(type);
    for (Tensor& tensor : run.values[i]) outputs.push_back(&tensor);
    std::unique_ptr<Request>* request = nullptr;
    if (node.op.collective().kind == CollectiveRole::Kind::kStart) request = &run.requests[i];
    if (node.op.collective().kind == CollectiveRole::Kind::kDone) {
      request = &run.requests[static_cast<std::size_t>(node.inputs[0].node)];
    }
    try {
      run_kernel(kernels_[i], {node.op, inputs, outputs, communicator_, request});
    } catch (const Error& error) {
      throw Error(fmt::format("reference: {}: {}", node.path, error.what()), error.status());
    }
  }

  Graph graph_;
  std::vector<Kernel> kernels_;                  // by node, null for inputs
  std::vector<std::vector<std::size_t>> freed_;  // by node
  Communicator& communicator_;
  Outputs outputs_;
};

class ReferenceBackend : public Backend {
 public:
  explicit ReferenceBackend(Communicator& communicator) : communicator_(communicator) {}
  std::string name() const override { return "reference"; }
  int local_replicas() const override { return 1; }
  std::unique_ptr<State> create_state(const StateSchema& schema) override {
    return std::make_unique<HostState>(schema);
  }
  std::unique_ptr<Executable> compile(const Graph& graph) override {
    verify(graph);
    return std::make_unique<ReferenceExecutable>(graph, communicator_);
  }

 private:
  Communicator& communicator_;
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend(Communicator& communicator) {
  return std::make_unique<ReferenceBackend>(communicator);
}

}  // namespace toroid
