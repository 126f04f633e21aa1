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

#if DNNL_VERSION_MAJOR >= 3
dnnl::matmul::primitive_desc describe_product(const Context& c, const Desc& a, const Desc& b,
                                              const Desc& y) {
  return {c.engine, a, b, y, attributes()};
}
#else
dnnl::matmul::primitive_desc describe_product(const Context& c, const Desc& a, const Desc& b,
                                              const Desc& y) {
  return {dnnl::matmul::desc(a, b, y), attributes(), c.engine};
}
#endif

Desc matrix(const MatrixOperand& m) {
  const Shape& s = m.type.shape;
  if (m.transposed) return {{s[1], s[0]}, data_type(m.type.dtype), Tag::ba};
  return {{s[0], s[1]}, data_type(m.type.dtype), Tag::ab};
}

}  // namespace

std::unique_ptr<Kernel> matrix_product(const OneDnn& onednn, const MatrixOperand& a,
                                       const MatrixOperand& b, const TensorType& y) {
  // A multiply-add costs far less than an element that comes from memory.
  const bool serial = y.elements() * a.type.shape[a.transposed ? 0 : 1] < 16 * kParallelElements;
  const SerialScope scope(serial);
  return translating_errors([&]() -> std::unique_ptr<Kernel> {
    const auto d = describe_product(onednn.context(), matrix(a), matrix(b), matrix({y, false}));
    Primitive primitive(onednn.context(), d, serial);
    primitive.add(DNNL_ARG_SRC, d.src_desc());
    primitive.add(DNNL_ARG_WEIGHTS, d.weights_desc());
    primitive.add(DNNL_ARG_DST, d.dst_desc());
    return std::make_unique<TwoOperandKernel>(
        std::move(primitive), Roles{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}, DNNL_ARG_WEIGHTS,
        Reorder(onednn.context(), d.weights_desc(), d.weights_desc()));
  });
}

}  // namespace toroid::cpu
