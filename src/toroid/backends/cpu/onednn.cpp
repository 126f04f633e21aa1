#include "toroid/backends/cpu/onednn.h"

namespace toroid::cpu {
namespace {

constexpr auto kForward = dnnl::prop_kind::forward_training;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

}  // namespace

dnnl::primitive_attr scratchpad_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

#if DNNL_VERSION_MAJOR >= 3

dnnl::convolution_forward::primitive_desc forward_convolution(const OneDnn& onednn,
                                                              const ConvolutionDescription& d) {
  return {onednn.engine(), kForward,
          kDirect,         d.x,
          d.kernel,        d.y,
          d.stride,        d.padding_before,
          d.padding_after, scratchpad_attributes()};
}

dnnl::convolution_backward_data::primitive_desc backward_data_convolution(
    const OneDnn& onednn, const ConvolutionDescription& d) {
  return {onednn.engine(),
          kDirect,
          d.x,
          d.kernel,
          d.y,
          d.stride,
          d.padding_before,
          d.padding_after,
          forward_convolution(onednn, d),
          scratchpad_attributes()};
}

dnnl::convolution_backward_weights::primitive_desc backward_weights_convolution(
    const OneDnn& onednn, const ConvolutionDescription& d) {
  return {onednn.engine(),
          kDirect,
          d.x,
          d.kernel,
          d.y,
          d.stride,
          d.padding_before,
          d.padding_after,
          forward_convolution(onednn, d),
          scratchpad_attributes()};
}

dnnl::matmul::primitive_desc matrix_product(const OneDnn& onednn, const dnnl::memory::desc& a,
                                            const dnnl::memory::desc& b,
                                            const dnnl::memory::desc& y) {
  return {onednn.engine(), a, b, y, scratchpad_attributes()};
}

#else

dnnl::convolution_forward::primitive_desc forward_convolution(const OneDnn& onednn,
                                                              const ConvolutionDescription& d) {
  const dnnl::convolution_forward::desc operation(kForward, kDirect, d.x, d.kernel, d.y, d.stride,
                                                  d.padding_before, d.padding_after);
  return {operation, scratchpad_attributes(), onednn.engine()};
}

dnnl::convolution_backward_data::primitive_desc backward_data_convolution(
    const OneDnn& onednn, const ConvolutionDescription& d) {
  const dnnl::convolution_backward_data::desc operation(kDirect, d.x, d.kernel, d.y, d.stride,
                                                        d.padding_before, d.padding_after);
  return {operation, scratchpad_attributes(), onednn.engine(), forward_convolution(onednn, d)};
}

dnnl::convolution_backward_weights::primitive_desc backward_weights_convolution(
    const OneDnn& onednn, const ConvolutionDescription& d) {
  const dnnl::convolution_backward_weights::desc operation(kDirect, d.x, d.kernel, d.y, d.stride,
                                                           d.padding_before, d.padding_after);
  return {operation, scratchpad_attributes(), onednn.engine(), forward_convolution(onednn, d)};
}

dnnl::matmul::primitive_desc matrix_product(const OneDnn& onednn, const dnnl::memory::desc& a,
                                            const dnnl::memory::desc& b,
                                            const dnnl::memory::desc& y) {
  return {dnnl::matmul::desc(a, b, y), scratchpad_attributes(), onednn.engine()};
}

#endif

Reorder::Reorder(const OneDnn& onednn, const dnnl::memory::desc& from,
                 const dnnl::memory::desc& to) {
  if (from == to) return;
  const dnnl::reorder::primitive_desc description(onednn.engine(), from, onednn.engine(), to,
                                                  scratchpad_attributes());
  primitive_ = std::make_unique<Primitive>(onednn, description);
  primitive_->add(DNNL_ARG_FROM, from);
  primitive_->add(DNNL_ARG_TO, to);
}

void Reorder::run(const void* from, void* to, std::byte* scratchpad) {
  primitive_->set(DNNL_ARG_FROM, from);
  primitive_->set(DNNL_ARG_TO, to);
  primitive_->run(scratchpad);
}

}  // namespace toroid::cpu
