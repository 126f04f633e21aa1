#include "toroid/backends/cpu/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "toroid/backends/cpu/cpu_state.h"
#include "toroid/backends/cpu/onednn.h"
#include "toroid/backends/cpu/parallel.h"
#include "toroid/backends/host_io.h"
#include "toroid/backends/host_state.h"
#include "toroid/base/error.h"
#include "toroid/comm/communicator.h"

namespace toroid::cpu {
namespace {

// Runs f, and adds the node's path to what goes wrong in it.
template <class F>
void at_node(const Node& node, F&& f) {
  try {
    f();
  } catch (const Error& error) {
    throw Error(fmt::format("cpu: {}: {}", node.path, error.what()), error.status());
  }
}

void check_dtypes(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    for (const TensorType& type : node.types) {
      if (type.dtype != DType::f64) continue;
      fail(
          "cpu: {}: this backend computes in f32 and bf16 and the result is {}; use the reference "
          "backend",
          node.path, type.str());
    }
  }
}

// The variables as they lie in memory.
HostState& stored_variables(State& state) {
  auto* held = dynamic_cast<CpuState*>(&state);
  if (held == nullptr) fail("state: it was made by another backend");
  return held->stored();
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Which buffers are in use at the busiest node.
MemoryUse memory_use(const Graph& graph, const std::vector<BufferLifetime>& buffers,
                     const std::vector<std::string>& names, std::size_t arena) {
  MemoryUse use{.arena = arena, .live = 0, .busiest = "", .at_busiest = {}};
  const int step = busiest_step(buffers);
  if (step < 0) return use;
  const auto nodes = static_cast<int>(graph.nodes.size());
  use.busiest = step < nodes ? graph.nodes[static_cast<std::size_t>(step)].path : "(updates)";
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].first > step || step > buffers[i].last) continue;
    use.live += buffers[i].bytes;
    use.at_busiest.push_back({names[i], buffers[i].bytes});
  }
  std::ranges::stable_sort(use.at_busiest, std::ranges::greater(), &MemoryUse::Buffer::bytes);
  return use;
}

void copy_bytes(const std::byte* from, std::byte* to, std::size_t bytes) {
  parallel_ranges(static_cast<std::int64_t>(bytes), 1, [&](std::int64_t first, std::int64_t last) {
    std::memcpy(to + first, from + first, static_cast<std::size_t>(last - first));
  });
}

}  // namespace

CpuExecutable::CpuExecutable(const Graph& graph, const LayoutRules& rules,
                             Communicator& communicator, const OneDnn& onednn,
                             const ExecutableOptions& options)
    : laid_out_(lay_out(graph, rules)),
      graph_(laid_out_.graph),
      options_(options),
      in_flight_(graph_.nodes.size()) {
  if (graph.mesh.data != communicator.size()) {
    fail("cpu: the graph is for {} replicas, this world has {} ranks", graph.mesh.data,
         communicator.size());
  }
  check_inputs(graph_);
  check_dtypes(graph_);
  const ThreadSettings settings(options_.threads);
  build_kernels(communicator, onednn);
  place_buffers();
}

CpuExecutable::~CpuExecutable() = default;

void CpuExecutable::build_kernels(Communicator& communicator, const OneDnn& onednn) {
  for (int i = 0; i < static_cast<int>(graph_.nodes.size()); ++i) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(i)];
    if (node.op.as<Input>() != nullptr) continue;
    const KernelFactory factory = find_kernel(node.op.name());
    if (factory == nullptr) fail("cpu: {}: there is no kernel for {}", node.path, node.op.name());
    NodeContext context{graph_,
                        i,
                        {},
                        {},
                        laid_out_.layouts[static_cast<std::size_t>(i)],
                        communicator,
                        onednn,
                        in_flight_,
                        options_.fast_convolutions};
    for (const Value value : node.inputs) {
      context.inputs.push_back(graph_.type(value));
      context.input_layouts.push_back(laid_out_.of(value));
    }
    Step& step = steps_.emplace_back();
    step.node = i;
    at_node(node, [&] { step.kernel = factory(context); });
  }
}

// Buffers in the arena: the storages that are not external, a scratch buffer per step that wants
// one, and a staging buffer per update that reads memory from outside.
void CpuExecutable::place_buffers() {
  std::vector<const Kernel*> kernels(graph_.nodes.size(), nullptr);
  for (const Step& step : steps_) kernels[static_cast<std::size_t>(step.node)] = step.kernel.get();
  const StorageAssignment storage =
      assign_storage(graph_, [&](int node, std::size_t input, std::size_t output) {
        return kernels[static_cast<std::size_t>(node)]->reuse(input, output);
      });
  std::vector<BufferLifetime> buffers;
  std::vector<std::byte**> owners;  // who learns the address of each buffer
  std::vector<std::string> names;
  std::vector<std::byte*> addresses(storage.storages.size(), nullptr);
  const auto want = [&](std::string name, const BufferLifetime& lifetime, std::byte*& owner) {
    names.push_back(std::move(name));
    buffers.push_back(lifetime);
    owners.push_back(&owner);
  };
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const Storage& one = storage.storages[i];
    if (!one.external()) want(graph_.name(one.first_value), one.lifetime, addresses[i]);
  }
  for (Step& step : steps_) {
    const std::size_t bytes = step.kernel->scratch_bytes();
    const std::string& path = graph_.nodes[static_cast<std::size_t>(step.node)].path;
    if (bytes > 0) want(path + " (scratch)", {bytes, step.node, step.node}, step.scratch);
  }
  const int end = static_cast<int>(graph_.nodes.size());
  for (const Binding& output : graph_.outputs) {
    results_.push_back({&output});
    outputs_.emplace(output.name, Tensor(graph_.type(output.value)));
  }
  for (const Binding& update : graph_.updates) updates_.push_back({&update});
  for (Result& update : updates_) {
    const Value value = update.binding->value;
    const auto& from = storage.storages[static_cast<std::size_t>(storage.of(value))];
    if (from.external()) {
      want(update.binding->name + " (staged)", {graph_.type(value).bytes(), end, end},
           update.staged);
    }
  }
  const MemoryPlan plan = plan_memory(buffers, Tensor::kAlignment);
  memory_ = memory_use(graph_, buffers, names, plan.bytes);
  arena_ = Arena(plan.bytes);
  for (std::size_t i = 0; i < owners.size(); ++i) *owners[i] = arena_.data() + plan.offsets[i];
  connect(storage, addresses);
}

// Gives the steps and results the addresses of their buffers; those from outside follow in each
// run.
void CpuExecutable::connect(const StorageAssignment& storage, std::vector<std::byte*>& addresses) {
  std::vector<std::vector<std::byte**>> places(addresses.size());
  const auto link = [&](Value value, std::byte*& place) {
    const auto i = static_cast<std::size_t>(storage.of(value));
    place = addresses[i];
    if (storage.storages[i].external()) places[i].push_back(&place);
  };
  for (Step& step : steps_) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(step.node)];
    step.inputs.resize(node.inputs.size());
    step.outputs.resize(node.types.size());
    for (std::size_t i = 0; i < step.inputs.size(); ++i) link(node.inputs[i], step.inputs[i]);
    for (std::size_t i = 0; i < step.outputs.size(); ++i) {
      link({step.node, static_cast<int>(i)}, step.outputs[i]);
    }
  }
  for (auto* results : {&updates_, &results_}) {
    for (Result& result : *results) link(result.binding->value, result.data);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (!storage.storages[i].external()) continue;
    const int node = storage.storages[i].input_node;
    const auto& input = *graph_.nodes[static_cast<std::size_t>(node)].op.as<Input>();
    const bool scalar = input.kind == InputKind::kScalar;
    external_.push_back({node, std::move(places[i]), scalar ? Tensor(input.type) : Tensor()});
  }
}

const Outputs& CpuExecutable::run(State& state, std::span<const Batch> batches,
                                  const Scalars& scalars) {
  const ThreadSettings settings(options_.threads);
  bring_in(state, batches, scalars);
  try {
    run_steps();
  } catch (...) {
    for (auto& request : in_flight_) request.reset();
    throw;
  }
  take_outputs();
  apply_updates(state);
  return outputs_;
}

void CpuExecutable::bring_in(State& state, std::span<const Batch> batches, const Scalars& scalars) {
  HostState& variables = stored_variables(state);
  const Batch* batch = only_batch(graph_, batches);
  for (ExternalInput& external : external_) {
    const auto& input = *graph_.nodes[static_cast<std::size_t>(external.node)].op.as<Input>();
    const Tensor* tensor = &external.held;
    switch (input.kind) {
      case InputKind::kState:
        tensor = &variable_for(input, variables);
        break;
      case InputKind::kBatch:
        tensor = &batch_tensor(input, *batch);
        if (tensor->dtype() == input.type.dtype) break;
        external.held = tensor->converted(input.type.dtype);
        tensor = &external.held;
        break;
      case InputKind::kScalar:
        set_scalar(input, scalars, external.held);
        break;
    }
    // Kernels write to no external buffer: assign_storage sees to it.
    for (std::byte** place : external.places) *place = const_cast<std::byte*>(tensor->raw());
  }
}

void CpuExecutable::run_steps() {
  double start = now();
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Step& step = steps_[i];
    at_node(graph_.nodes[static_cast<std::size_t>(step.node)], [&] {
      step.kernel->run({step.inputs, step.outputs, step.scratch});
    });
    const double end = now();
    step.seconds += end - start;
    if (events_ != nullptr) events_->push_back({static_cast<int>(i), start, end - start});
    start = end;
  }
  ++runs_;
}

std::vector<NodeTime> CpuExecutable::node_times() const {
  std::vector<NodeTime> times;
  for (const Step& step : steps_) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(step.node)];
    std::vector<TensorType> inputs;
    for (const Value value : node.inputs) inputs.push_back(graph_.type(value));
    times.push_back(
        {node.path, node.op.label(), runs_, step.seconds, node.op.cost(inputs, node.types)});
  }
  return times;
}

void CpuExecutable::take_outputs() {
  for (const Result& result : results_) {
    Tensor& tensor = outputs_.at(result.binding->name);
    if (tensor.bytes() > 0) std::memcpy(tensor.raw(), result.data, tensor.bytes());
  }
}

// Variables change only here, when nothing can fail any more. One that takes over another's old
// value gets it from a copy.
void CpuExecutable::apply_updates(State& state) {
  HostState& variables = stored_variables(state);
  for (const Result& update : updates_) {
    const std::size_t bytes = graph_.type(update.binding->value).bytes();
    if (update.staged != nullptr) copy_bytes(update.data, update.staged, bytes);
  }
  for (const Result& update : updates_) {
    const std::size_t bytes = graph_.type(update.binding->value).bytes();
    copy_bytes(update.staged != nullptr ? update.staged : update.data,
               variables.tensor(update.binding->name).raw(), bytes);
  }
}

}  // namespace toroid::cpu
