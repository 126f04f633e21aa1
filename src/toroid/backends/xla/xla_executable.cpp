#include "toroid/backends/xla/xla_executable.h"

#include <cstring>

#include "toroid/backends/host_io.h"
#include "toroid/backends/xla/stablehlo.h"
#include "toroid/base/error.h"

namespace toroid {
namespace {

// The tensors one after the other along the first dimension.
Tensor concatenated(const std::vector<Tensor>& parts) {
  Shape shape = parts[0].shape();
  shape[0] *= static_cast<std::int64_t>(parts.size());
  Tensor whole(parts[0].dtype(), std::move(shape));
  std::byte* next = whole.raw();
  for (const Tensor& part : parts) {
    std::memcpy(next, part.raw(), part.bytes());
    next += part.bytes();
  }
  return whole;
}

void check_outputs(const Graph& graph) {
  for (const Binding& output : graph.outputs) {
    if (output.per_example && graph.type(output.value).shape.is_scalar()) {
      fail("graph: the output {} is per example, but a scalar", output.name);
    }
  }
}

}  // namespace

XlaExecutable::XlaExecutable(std::shared_ptr<PjrtClient> client, const std::vector<int>& devices,
                             Graph graph)
    : client_(std::move(client)), graph_(std::move(graph)) {
  check_inputs(graph_);
  check_outputs(graph_);
  std::vector<TensorType> parameters;
  for (const Node& node : graph_.nodes) {
    const auto* input = node.op.as<Input>();
    if (input == nullptr) continue;
    inputs_.push_back(*input);
    parameters.push_back(input->type);
  }
  program_ = client_->compile(emit_stablehlo(graph_), parameters,
                              {.num_replicas = static_cast<int>(devices.size())});
  if (program_->devices() != devices) {
    fail("the plugin gave the program other devices than the state has");
  }
}

XlaState& XlaExecutable::checked(State& state) const {
  auto* held = dynamic_cast<XlaState*>(&state);
  if (held == nullptr || held->client() != client_.get()) {
    fail("state: it was made by another backend than the executable");
  }
  for (const Input& input : inputs_) {
    if (input.kind != InputKind::kState) continue;
    const TensorType& type = held->schema()[held->index_of(input.name)].type;
    if (type != input.type) {
      fail("state: the variable {} is {}, the graph reads it as {}", input.name, type.str(),
           input.type.str());
    }
  }
  return *held;
}

void XlaExecutable::check_batches(std::span<const Batch> batches) const {
  for (const Input& input : inputs_) {
    if (input.kind != InputKind::kBatch || batches.size() == program_->devices().size()) continue;
    fail("batch: the graph takes {} of one batch per local replica ({} here), {} batches are given",
         input.name, program_->devices().size(), batches.size());
  }
}

std::unique_ptr<PjrtBuffer> XlaExecutable::feed(const Input& input, std::span<const Batch> batches,
                                                std::size_t replica, const Scalars& scalars) const {
  const int device = program_->devices()[replica];
  if (input.kind == InputKind::kScalar) {
    return client_->buffer_from_host(scalar_tensor(input, scalars), device);
  }
  const Tensor& tensor = batch_tensor(input, batches[replica]);
  if (tensor.dtype() == input.type.dtype) return client_->buffer_from_host(tensor, device);
  return client_->buffer_from_host(tensor.converted(input.type.dtype), device);
}

const Outputs& XlaExecutable::run(State& state, std::span<const Batch> batches,
                                  const Scalars& scalars) {
  XlaState& variables = checked(state);
  check_batches(batches);
  const std::vector<int>& devices = program_->devices();
  std::vector<PjrtBuffers> fed(devices.size());
  std::vector<std::vector<PjrtBuffer*>> arguments(devices.size());
  for (std::size_t replica = 0; replica < devices.size(); ++replica) {
    for (const Input& input : inputs_) {
      if (input.kind == InputKind::kState) {
        arguments[replica].push_back(variables.buffer(replica, variables.index_of(input.name)));
        continue;
      }
      fed[replica].push_back(feed(input, batches, replica, scalars));
      arguments[replica].push_back(fed[replica].back().get());
    }
  }
  auto results = program_->execute(arguments);
  // Those of before were donated.
  for (std::size_t k = 0; k < graph_.updates.size(); ++k) {
    const std::size_t variable = variables.index_of(graph_.updates[k].name);
    for (std::size_t replica = 0; replica < devices.size(); ++replica) {
      variables.replace(replica, variable, std::move(results[replica][k]));
    }
  }
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
    const Binding& output = graph_.outputs[i];
    outputs_.insert_or_assign(output.name, fetch(results, graph_.updates.size() + i, output));
  }
  return outputs_;
}

Tensor XlaExecutable::fetch(const std::vector<PjrtBuffers>& results, std::size_t result,
                            const Binding& output) const {
  if (!output.per_example) return results[0][result]->to_host();
  std::vector<Tensor> parts;
  for (const PjrtBuffers& replica : results) parts.push_back(replica[result]->to_host());
  return concatenated(parts);
}

}  // namespace toroid
