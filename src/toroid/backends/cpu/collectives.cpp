#include "toroid/ops/collectives.h"

#include "toroid/backends/cpu/kernels.h"
#include "toroid/comm/communicator.h"

namespace toroid::cpu {
namespace {

using Starter = std::unique_ptr<Request> (Communicator::*)(std::span<const ConstBuffer>,
                                                           std::span<const Buffer>, int);

// Starts a collective on buffers that the memory plan keeps until its done has run.
class StartKernel : public Kernel {
 public:
  StartKernel(const NodeContext& context, Starter start, bool in_place)
      : communicator_(context.communicator),
        request_(context.in_flight[static_cast<std::size_t>(context.index)]),
        start_(start),
        group_size_(context.node().op.collective().group_size),
        in_place_(in_place) {
    for (const TensorType& type : context.inputs) {
      inputs_.push_back({nullptr, type.dtype, type.elements()});
    }
    for (const TensorType& type : context.outputs()) {
      outputs_.push_back({nullptr, type.dtype, type.elements()});
    }
  }

  void run(const Arguments& arguments) override {
    for (std::size_t i = 0; i < inputs_.size(); ++i) inputs_[i].data = arguments.inputs[i];
    for (std::size_t i = 0; i < outputs_.size(); ++i) outputs_[i].data = arguments.outputs[i];
    request_ = (communicator_.*start_)(inputs_, outputs_, group_size_);
  }
  Reuse reuse(std::size_t input, std::size_t output) const override {
    return in_place_ && input == output ? Reuse::kOverwrite : Reuse::kNone;
  }

 private:
  Communicator& communicator_;
  std::unique_ptr<Request>& request_;
  Starter start_;
  int group_size_;
  bool in_place_;
  std::vector<ConstBuffer> inputs_;
  std::vector<Buffer> outputs_;
};

class DoneKernel : public Kernel {
 public:
  explicit DoneKernel(const NodeContext& context)
      : request_(context.in_flight[static_cast<std::size_t>(context.node().inputs.at(0).node)]) {}

  void run(const Arguments&) override {
    request_->wait();
    request_.reset();
  }
  Reuse reuse(std::size_t input, std::size_t output) const override {
    return input == output ? Reuse::kSame : Reuse::kNone;
  }

 private:
  std::unique_ptr<Request>& request_;
};

class AxisIndexKernel : public Kernel {
 public:
  explicit AxisIndexKernel(const NodeContext& context) : rank_(context.communicator.rank()) {}
  void run(const Arguments& arguments) override { *arguments.output<std::int32_t>() = rank_; }

 private:
  std::int32_t rank_;
};

}  // namespace

std::unique_ptr<Kernel> make_all_reduce_start(const NodeContext& context) {
  return std::make_unique<StartKernel>(context, &Communicator::all_reduce_start, true);
}
std::unique_ptr<Kernel> make_reduce_scatter_start(const NodeContext& context) {
  return std::make_unique<StartKernel>(context, &Communicator::reduce_scatter_start, false);
}
std::unique_ptr<Kernel> make_all_gather_start(const NodeContext& context) {
  return std::make_unique<StartKernel>(context, &Communicator::all_gather_start, false);
}
std::unique_ptr<Kernel> make_collective_done(const NodeContext& context) {
  return std::make_unique<DoneKernel>(context);
}
std::unique_ptr<Kernel> make_axis_index(const NodeContext& context) {
  return std::make_unique<AxisIndexKernel>(context);
}

}  // namespace toroid::cpu
