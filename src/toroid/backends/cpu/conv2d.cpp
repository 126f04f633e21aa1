#include "toroid/ops/conv2d.h"

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/onednn.h"

namespace toroid::cpu {
namespace {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
constexpr auto kF32 = dnnl::memory::data_type::f32;

// [N,H,W,C] and [kh,kw,C,K] in oneDNN's logical order, in the graph's layout or one of oneDNN's
// choice.
Desc activation(const Shape& s) {
  return {{s[0], s[3], s[1], s[2]}, kF32, Tag::nhwc};
}
Desc kernel(const Shape& s, Tag layout = Tag::hwio) {
  return {{s[3], s[2], s[0], s[1]}, kF32, layout};
}

// Kernels are stored as in the graph; the convolution chooses the layout it works on.
template <class ConvOp>
ConvolutionDescription describe(const ConvOp& op, const Shape& x, const Shape& weights,
                                const Shape& y) {
  return {activation(x),
          kernel(weights, Tag::any),
          activation(y),
          {op.stride[0], op.stride[1]},
          {op.padding[0], op.padding[2]},
          {op.padding[1], op.padding[3]}};
}

// A convolution between two activations with a kernel that is brought into its layout each step.
class ActivationKernel : public Kernel {
 public:
  // `from` and `to` are the arguments of the activation read and written.
  template <class Description>
  ActivationKernel(const OneDnn& onednn, const Description& description, const Shape& weights,
                   int from, int to)
      : from_(from),
        to_(to),
        reorder_(onednn, kernel(weights), description.weights_desc()),
        convolution_(onednn, description),
        weights_bytes_(reorder_.needed() ? aligned(description.weights_desc().get_size()) : 0) {
    convolution_.add(DNNL_ARG_WEIGHTS, description.weights_desc());
  }
  void add_activations(const Desc& from, const Desc& to) {
    convolution_.add(from_, from);
    convolution_.add(to_, to);
  }

  void run(const Arguments& arguments) override {
    std::byte* scratchpad = arguments.scratch + weights_bytes_;
    if (reorder_.needed()) reorder_.run(arguments.inputs[1], arguments.scratch, scratchpad);
    convolution_.set(DNNL_ARG_WEIGHTS, reorder_.needed() ? arguments.scratch : arguments.inputs[1]);
    convolution_.set(from_, arguments.inputs[0]);
    convolution_.set(to_, arguments.outputs[0]);
    convolution_.run(scratchpad);
  }
  std::size_t scratch_bytes() const override {
    return weights_bytes_ + std::max(reorder_.scratchpad_bytes(), convolution_.scratchpad_bytes());
  }

 private:
  int from_, to_;
  Reorder reorder_;
  Primitive convolution_;
  std::size_t weights_bytes_;
};

// The kernel's gradient, brought back into the graph's layout.
class KernelGradientKernel : public Kernel {
 public:
  KernelGradientKernel(const OneDnn& onednn,
                       const dnnl::convolution_backward_weights::primitive_desc& description,
                       const Shape& weights)
      : convolution_(onednn, description),
        reorder_(onednn, description.diff_weights_desc(), kernel(weights)),
        weights_bytes_(reorder_.needed() ? aligned(description.diff_weights_desc().get_size())
                                         : 0) {
    convolution_.add(DNNL_ARG_SRC, description.src_desc());
    convolution_.add(DNNL_ARG_DIFF_DST, description.diff_dst_desc());
    convolution_.add(DNNL_ARG_DIFF_WEIGHTS, description.diff_weights_desc());
  }

  void run(const Arguments& arguments) override {
    std::byte* scratchpad = arguments.scratch + weights_bytes_;
    std::byte* result = reorder_.needed() ? arguments.scratch : arguments.outputs[0];
    convolution_.set(DNNL_ARG_SRC, arguments.inputs[0]);
    convolution_.set(DNNL_ARG_DIFF_DST, arguments.inputs[1]);
    convolution_.set(DNNL_ARG_DIFF_WEIGHTS, result);
    convolution_.run(scratchpad);
    if (reorder_.needed()) reorder_.run(result, arguments.outputs[0], scratchpad);
  }
  std::size_t scratch_bytes() const override {
    return weights_bytes_ + std::max(reorder_.scratchpad_bytes(), convolution_.scratchpad_bytes());
  }

 private:
  Primitive convolution_;
  Reorder reorder_;
  std::size_t weights_bytes_;
};

}  // namespace

std::unique_ptr<Kernel> make_conv2d(const NodeContext& context) {
  const Shape &x = context.inputs[0].shape, &weights = context.inputs[1].shape;
  const auto description = forward_convolution(
      context.onednn, describe(context.op<Conv2d>(), x, weights, context.outputs()[0].shape));
  auto made = std::make_unique<ActivationKernel>(context.onednn, description, weights, DNNL_ARG_SRC,
                                                 DNNL_ARG_DST);
  made->add_activations(description.src_desc(), description.dst_desc());
  return made;
}

std::unique_ptr<Kernel> make_conv2d_input_gradient(const NodeContext& context) {
  const Shape &dy = context.inputs[0].shape, &weights = context.inputs[1].shape;
  const auto description = backward_data_convolution(
      context.onednn,
      describe(context.op<Conv2dInputGradient>(), context.outputs()[0].shape, weights, dy));
  auto made = std::make_unique<ActivationKernel>(context.onednn, description, weights,
                                                 DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_SRC);
  made->add_activations(description.diff_dst_desc(), description.diff_src_desc());
  return made;
}

std::unique_ptr<Kernel> make_conv2d_kernel_gradient(const NodeContext& context) {
  const Shape &x = context.inputs[0].shape, &dy = context.inputs[1].shape;
  const Shape& weights = context.outputs()[0].shape;
  const auto description = backward_weights_convolution(
      context.onednn, describe(context.op<Conv2dKernelGradient>(), x, weights, dy));
  return std::make_unique<KernelGradientKernel>(context.onednn, description, weights);
}

}  // namespace toroid::cpu
