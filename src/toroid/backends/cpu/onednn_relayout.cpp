#include "toroid/backends/cpu/onednn_primitive.h"
#include "toroid/backends/cpu/relayout.h"

namespace toroid::cpu {
namespace {

using onednn::Context;
using onednn::data_type;
using onednn::Desc;
using onednn::Reorder;
using onednn::Tag;
using onednn::translating_errors;

// A tensor [d0,d1,d2,d3] of any layout, in the logical order of its type.
Desc described(const TensorType& type, Layout layout) {
  const Shape& s = type.shape;
  const auto activation = [&](Tag tag) {
    return Desc({s[0], s[3], s[1], s[2]}, data_type(type.dtype), tag).permute_axes({0, 3, 1, 2});
  };
  const auto kernel = [&](Tag tag) {
    return Desc({s[3], s[2], s[0], s[1]}, data_type(type.dtype), tag).permute_axes({3, 2, 0, 1});
  };
  switch (layout) {
    case Layout::kPlanar:
      return activation(Tag::nchw);
    case Layout::kBlocked8:
      return activation(Tag::nChw8c);
    case Layout::kBlocked16:
      return activation(Tag::nChw16c);
    case Layout::kKernel8:
      return kernel(Tag::OIhw8i8o);
    case Layout::kKernel16:
      return kernel(Tag::OIhw16i16o);
    case Layout::kRowMajor:
      break;
  }
  return activation(Tag::nhwc);
}

class RelayoutKernel : public Kernel {
 public:
  RelayoutKernel(const Context& context, const TensorType& type, Layout from, Layout to)
      : bytes_(type.bytes()), reorder_(context, described(type, from), described(type, to)) {}

  void run(const Arguments& arguments) override {
    if (!reorder_.needed()) {  // with a single pixel or channel, two layouts may be the same
      std::memcpy(arguments.outputs[0], arguments.inputs[0], bytes_);
      return;
    }
    translating_errors(
        [&] { reorder_.run(arguments.inputs[0], arguments.outputs[0], arguments.scratch); });
  }
  std::size_t scratch_bytes() const override { return reorder_.scratchpad_bytes(); }

 private:
  std::size_t bytes_;
  Reorder reorder_;
};

}  // namespace

std::unique_ptr<Kernel> relayout(const OneDnn& onednn, const TensorType& type, Layout from,
                                 Layout to) {
  return translating_errors([&]() -> std::unique_ptr<Kernel> {
    return std::make_unique<RelayoutKernel>(onednn.context(), type, from, to);
  });
}

std::unique_ptr<Kernel> make_relayout(const NodeContext& context) {
  const auto& op = context.op<Relayout>();
  return relayout(context.onednn, context.inputs[0], op.from, op.to);
}

}  // namespace toroid::cpu
