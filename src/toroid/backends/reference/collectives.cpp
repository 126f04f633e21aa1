#include "toroid/ops/collectives.h"

#include "toroid/backends/reference/kernels.h"

namespace toroid::reference {
namespace {

std::vector<ConstBuffer> operands(const KernelCall& call) {
  std::vector<ConstBuffer> buffers;
  for (const Tensor* tensor : call.inputs) {
    buffers.push_back({tensor->raw(), tensor->dtype(), tensor->elements()});
  }
  return buffers;
}

std::vector<Buffer> results(const KernelCall& call) {
  std::vector<Buffer> buffers;
  for (Tensor* tensor : call.outputs) {
    buffers.push_back({tensor->raw(), tensor->dtype(), tensor->elements()});
  }
  return buffers;
}

}  // namespace

void all_reduce_start(const KernelCall& call) {
  *call.request = call.communicator.all_reduce_start(operands(call), results(call),
                                                     call.attributes<AllReduceStart>().group_size);
}

void reduce_scatter_start(const KernelCall& call) {
  *call.request = call.communicator.reduce_scatter_start(
      operands(call), results(call), call.attributes<ReduceScatterStart>().group_size);
}

void all_gather_start(const KernelCall& call) {
  *call.request = call.communicator.all_gather_start(operands(call), results(call),
                                                     call.attributes<AllGatherStart>().group_size);
}

void collective_done(const KernelCall& call) {
  (*call.request)->wait();
  call.request->reset();
  for (std::size_t i = 0; i < call.inputs.size(); ++i) *call.outputs[i] = *call.inputs[i];
}

void axis_index(const KernelCall& call) {
  call.output<std::int32_t>()[0] = call.communicator.rank();
}

}  // namespace toroid::reference
