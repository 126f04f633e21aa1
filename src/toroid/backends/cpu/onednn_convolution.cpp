#include "toroid/backends/cpu/onednn_primitive.h"

namespace toroid::cpu {
namespace {

using onednn::attributes;
using onednn::Context;
using onednn::data_type;
using onednn::Desc;
using onednn::Primitive;
using onednn::Reorder;
using onednn::Roles;
using onednn::Tag;
using onednn::translating_errors;
using onednn::TwoOperandKernel;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;
using Algorithm = dnnl::algorithm;
using Dims = dnnl::memory::dims;

constexpr auto kTraining = dnnl::prop_kind::forward_training;

Tag activation_tag(Layout layout) {
  switch (layout) {
    case Layout::kPlanar:
      return Tag::nchw;
    case Layout::kBlocked8:
      return Tag::nChw8c;
    case Layout::kBlocked16:
      return Tag::nChw16c;
    default:
      return Tag::nhwc;
  }
}

Tag kernel_tag(Layout layout, bool grouped) {
  switch (layout) {
    case Layout::kKernel8:
      return grouped ? Tag::gOIhw8i8o : Tag::OIhw8i8o;
    case Layout::kKernel16:
      return grouped ? Tag::gOIhw16i16o : Tag::OIhw16i16o;
    default:
      return grouped ? Tag::hwigo : Tag::hwio;
  }
}

// [N,H,W,C] in oneDNN's logical order, NCHW.
Desc activation(const Shape& s, DType dtype, Tag tag) {
  return {{s[0], s[3], s[1], s[2]}, data_type(dtype), tag};
}

// [kh,kw,C/G,K] in oneDNN's logical order, OIHW or GOIHW.
Desc weights(const ConvolutionGeometry& g, DType dtype, Tag tag) {
  const Shape& s = g.kernel;
  Dims dims{s[3], s[2], s[0], s[1]};
  if (g.groups > 1) dims = {g.groups, s[3] / g.groups, s[2], s[0], s[1]};
  return {dims, data_type(dtype), tag};
}

// What all three primitives are described with; oneDNN chooses the kernel's layout.
struct Problem {
  Algorithm algorithm;
  Desc x, kernel, y, kernel_gradient;
  Dims stride, before, after;

  Problem(const ConvolutionGeometry& g, Algorithm chosen, Tag x_tag, Tag y_tag)
      : algorithm(chosen),
        x(activation(g.x, g.dtype, x_tag)),
        kernel(weights(g, g.dtype, Tag::any)),
        y(activation(g.y, g.dtype, y_tag)),
        kernel_gradient(weights(g, DType::f32, Tag::any)),
        stride{g.stride[0], g.stride[1]},
        before{g.padding[0], g.padding[2]},
        after{g.padding[1], g.padding[3]} {}
};

#if DNNL_VERSION_MAJOR >= 3

Forward::primitive_desc describe(const Context& c, const Problem& p, const Forward*) {
  return {c.engine, kTraining, p.algorithm, p.x,     p.kernel,
          p.y,      p.stride,  p.before,    p.after, attributes()};
}
BackwardData::primitive_desc describe(const Context& c, const Problem& p, const BackwardData*) {
  return {c.engine,    p.algorithm, p.x,
          p.kernel,    p.y,         p.stride,
          p.before,    p.after,     describe(c, p, static_cast<const Forward*>(nullptr)),
          attributes()};
}
BackwardWeights::primitive_desc describe(const Context& c, const Problem& p,
                                         const BackwardWeights*) {
  return {c.engine,          p.algorithm, p.x,
          p.kernel_gradient, p.y,         p.stride,
          p.before,          p.after,     describe(c, p, static_cast<const Forward*>(nullptr)),
          attributes()};
}

#else

Forward::primitive_desc describe(const Context& c, const Problem& p, const Forward*) {
  const Forward::desc operation(kTraining, p.algorithm, p.x, p.kernel, p.y, p.stride, p.before,
                                p.after);
  return {operation, attributes(), c.engine};
}
BackwardData::primitive_desc describe(const Context& c, const Problem& p, const BackwardData*) {
  const BackwardData::desc operation(p.algorithm, p.x, p.kernel, p.y, p.stride, p.before, p.after);
  return {operation, attributes(), c.engine, describe(c, p, static_cast<const Forward*>(nullptr))};
}
BackwardWeights::primitive_desc describe(const Context& c, const Problem& p,
                                         const BackwardWeights*) {
  const BackwardWeights::desc operation(p.algorithm, p.x, p.kernel_gradient, p.y, p.stride,
                                        p.before, p.after);
  return {operation, attributes(), c.engine, describe(c, p, static_cast<const Forward*>(nullptr))};
}

#endif

// P is one of the three primitives. Winograd's algorithm exists for some shapes and processors;
// elsewhere the direct one takes its place.
template <class P>
typename P::primitive_desc describe_planned(const Context& context, const ConvolutionPlan& plan) {
  const P* which = nullptr;
  const Tag x = activation_tag(plan.x), y = activation_tag(plan.y);
  if (plan.winograd) {
    try {
      return describe(context, {plan.geometry, Algorithm::convolution_winograd, x, y}, which);
    } catch (const dnnl::error& error) {
      if (error.status != dnnl_unimplemented) throw;
    }
  }
  return describe(context, {plan.geometry, Algorithm::convolution_direct, x, y}, which);
}

Desc stored(const ConvolutionPlan& plan, DType dtype) {
  return weights(plan.geometry, dtype, kernel_tag(plan.kernel, plan.geometry.groups > 1));
}

}  // namespace

std::unique_ptr<Kernel> convolution(const OneDnn& onednn, const ConvolutionPlan& plan) {
  return translating_errors([&]() -> std::unique_ptr<Kernel> {
    const auto d = describe_planned<Forward>(onednn.context(), plan);
    Primitive primitive(onednn.context(), d, false);
    primitive.add(DNNL_ARG_SRC, d.src_desc());
    primitive.add(DNNL_ARG_WEIGHTS, d.weights_desc());
    primitive.add(DNNL_ARG_DST, d.dst_desc());
    return std::make_unique<TwoOperandKernel>(
        std::move(primitive), Roles{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}, DNNL_ARG_WEIGHTS,
        Reorder(onednn.context(), stored(plan, plan.geometry.dtype), d.weights_desc()));
  });
}

std::unique_ptr<Kernel> convolution_backward_data(const OneDnn& onednn,
                                                  const ConvolutionPlan& plan) {
  return translating_errors([&]() -> std::unique_ptr<Kernel> {
    const auto d = describe_planned<BackwardData>(onednn.context(), plan);
    Primitive primitive(onednn.context(), d, false);
    primitive.add(DNNL_ARG_DIFF_DST, d.diff_dst_desc());
    primitive.add(DNNL_ARG_WEIGHTS, d.weights_desc());
    primitive.add(DNNL_ARG_DIFF_SRC, d.diff_src_desc());
    return std::make_unique<TwoOperandKernel>(
        std::move(primitive), Roles{DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
        DNNL_ARG_WEIGHTS,
        Reorder(onednn.context(), stored(plan, plan.geometry.dtype), d.weights_desc()));
  });
}

std::unique_ptr<Kernel> convolution_backward_weights(const OneDnn& onednn,
                                                     const ConvolutionPlan& plan) {
  return translating_errors([&]() -> std::unique_ptr<Kernel> {
    const auto d = describe_planned<BackwardWeights>(onednn.context(), plan);
    Primitive primitive(onednn.context(), d, false);
    primitive.add(DNNL_ARG_SRC, d.src_desc());
    primitive.add(DNNL_ARG_DIFF_DST, d.diff_dst_desc());
    primitive.add(DNNL_ARG_DIFF_WEIGHTS, d.diff_weights_desc());
    return std::make_unique<TwoOperandKernel>(
        std::move(primitive), Roles{DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS},
        DNNL_ARG_DIFF_WEIGHTS,
        Reorder(onednn.context(), d.diff_weights_desc(), stored(plan, DType::f32)));
  });
}

ConvolutionLayouts preferred_layouts(const OneDnn& onednn, const ConvolutionGeometry& geometry) {
  const auto d = translating_errors([&] {
    return describe(onednn.context(), {geometry, Algorithm::convolution_direct, Tag::any, Tag::any},
                    static_cast<const Forward*>(nullptr));
  });
  const auto layout_of = [&](const Desc& desc, const Shape& shape) {
    for (const Layout layout : {Layout::kBlocked16, Layout::kBlocked8, Layout::kPlanar}) {
      const bool fitting = fits({geometry.dtype, shape}, layout);
      if (fitting && desc == activation(shape, geometry.dtype, activation_tag(layout))) {
        return layout;
      }
    }
    return Layout::kRowMajor;
  };
  const ConvolutionLayouts found{layout_of(d.src_desc(), geometry.x),
                                 layout_of(d.dst_desc(), geometry.y)};
  // No kernel is fast with a row-major tensor on one side only.
  if (found.x == Layout::kRowMajor || found.y == Layout::kRowMajor) return {};
  return found;
}

std::int64_t preferred_kernel_block(const OneDnn& onednn) {
  const ConvolutionGeometry usual{.x = Shape{1, 16, 16, 64},
                                  .kernel = Shape{3, 3, 64, 64},
                                  .y = Shape{1, 16, 16, 64},
                                  .stride = {1, 1},
                                  .padding = {1, 1, 1, 1}};
  const Layout layout = preferred_layouts(onednn, usual).y;
  return layout == Layout::kBlocked16 ? 16 : layout == Layout::kBlocked8 ? 8 : 0;
}

}  // namespace toroid::cpu
