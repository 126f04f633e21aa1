#include "toroid/backends/cpu/onednn.h"

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "toroid/backends/cpu/parallel.h"
#include "toroid/base/error.h"

namespace toroid::cpu {

struct OneDnn::Context {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

OneDnn::OneDnn() : context_(std::make_unique<Context>()) {}
OneDnn::~OneDnn() = default;

namespace {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
using Context = OneDnn::Context;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;

constexpr auto kF32 = dnnl::memory::data_type::f32;
constexpr auto kTraining = dnnl::prop_kind::forward_training;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

// oneDNN's errors say little; the caller adds which node it was.
template <class F>
auto translating_errors(F&& f) {
  try {
    return f();
  } catch (const dnnl::error& error) {
    fail("oneDNN: {}", error.what());
  }
}

// Scratchpads come from the caller, out of the planned arena.
dnnl::primitive_attr attributes() {
  dnnl::primitive_attr result;
  result.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return result;
}

// [N,H,W,C] and [kh,kw,C,K] in oneDNN's logical order, NCHW and OIHW.
Desc activation(const Shape& s) {
  return {{s[0], s[3], s[1], s[2]}, kF32, Tag::nhwc};
}
Desc weights(const Shape& s, Tag layout) {
  return {{s[3], s[2], s[0], s[1]}, kF32, layout};
}

// oneDNN's arguments; it chooses the kernel's layout.
struct Arguments2d {
  Desc x, kernel, y;
  dnnl::memory::dims stride, before, after;

  explicit Arguments2d(const ConvolutionGeometry& g)
      : x(activation(g.x)),
        kernel(weights(g.kernel, Tag::any)),
        y(activation(g.y)),
        stride{g.stride[0], g.stride[1]},
        before{g.padding[0], g.padding[2]},
        after{g.padding[1], g.padding[3]} {}
};

#if DNNL_VERSION_MAJOR >= 3

Forward::primitive_desc describe_forward(const Context& c, const Arguments2d& a) {
  return {c.engine, kTraining, kDirect,  a.x,     a.kernel,
          a.y,      a.stride,  a.before, a.after, attributes()};
}
BackwardData::primitive_desc describe_backward_data(const Context& c, const Arguments2d& a) {
  return {
      c.engine,    kDirect, a.x, a.kernel, a.y, a.stride, a.before, a.after, describe_forward(c, a),
      attributes()};
}
BackwardWeights::primitive_desc describe_backward_weights(const Context& c, const Arguments2d& a) {
  return {
      c.engine,    kDirect, a.x, a.kernel, a.y, a.stride, a.before, a.after, describe_forward(c, a),
      attributes()};
}
dnnl::matmul::primitive_desc describe_product(const Context& c, const Desc& a, const Desc& b,
                                              const Desc& y) {
  return {c.engine, a, b, y, attributes()};
}

#else

Forward::primitive_desc describe_forward(const Context& c, const Arguments2d& a) {
  const Forward::desc operation(kTraining, kDirect, a.x, a.kernel, a.y, a.stride, a.before,
                                a.after);
  return {operation, attributes(), c.engine};
}
BackwardData::primitive_desc describe_backward_data(const Context& c, const Arguments2d& a) {
  const BackwardData::desc operation(kDirect, a.x, a.kernel, a.y, a.stride, a.before, a.after);
  return {operation, attributes(), c.engine, describe_forward(c, a)};
}
BackwardWeights::primitive_desc describe_backward_weights(const Context& c, const Arguments2d& a) {
  const BackwardWeights::desc operation(kDirect, a.x, a.kernel, a.y, a.stride, a.before, a.after);
  return {operation, attributes(), c.engine, describe_forward(c, a)};
}
dnnl::matmul::primitive_desc describe_product(const Context& c, const Desc& a, const Desc& b,
                                              const Desc& y) {
  return {dnnl::matmul::desc(a, b, y), attributes(), c.engine};
}

#endif

// A primitive with its memory objects, built once; buffers are put in for each run. A serial one
// must be described in a SerialScope too: primitives fix their threads when they are described.
class Primitive {
 public:
  template <class Description>
  Primitive(const Context& context, const Description& description, bool serial)
      : serial_(serial),
        stream_(context.stream),
        engine_(context.engine),
        primitive_(description.get()),
        scratchpad_bytes_(description.scratchpad_desc().get_size()) {
    add(DNNL_ARG_SCRATCHPAD, description.scratchpad_desc());
  }

  void add(int argument, const Desc& description) {
    arguments_.emplace(argument, dnnl::memory(description, engine_, nullptr));
  }
  std::size_t scratchpad_bytes() const { return scratchpad_bytes_; }

  // The buffer of an argument for the runs that follow.
  void set(int argument, const std::byte* data) {
    arguments_.at(argument).set_data_handle(const_cast<std::byte*>(data));
  }
  void run(std::byte* scratchpad) {
    const SerialScope scope(serial_);
    set(DNNL_ARG_SCRATCHPAD, scratchpad);
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  bool serial_;
  dnnl::stream stream_;
  dnnl::engine engine_;
  dnnl::primitive primitive_;
  std::size_t scratchpad_bytes_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

// An operand or the result of a primitive in the layout of the primitive's choice, with the reorder
// from or to the graph's where they differ.
class Relayout {
 public:
  Relayout(const Context& context, const Desc& from, const Desc& to)
      : bytes_(from == to ? 0 : aligned(std::max(from.get_size(), to.get_size()))) {
    if (from == to) return;
    const bool serial = bytes_ < static_cast<std::size_t>(kParallelElements) * sizeof(float);
    const SerialScope scope(serial);
    const dnnl::reorder::primitive_desc description(context.engine, from, context.engine, to,
                                                    attributes());
    reorder_ = std::make_unique<Primitive>(context, description, serial);
    reorder_->add(DNNL_ARG_FROM, from);
    reorder_->add(DNNL_ARG_TO, to);
  }

  bool needed() const { return reorder_ != nullptr; }
  std::size_t bytes() const { return bytes_; }
  std::size_t scratchpad_bytes() const { return needed() ? reorder_->scratchpad_bytes() : 0; }
  void run(const std::byte* from, std::byte* to, std::byte* scratchpad) {
    reorder_->set(DNNL_ARG_FROM, from);
    reorder_->set(DNNL_ARG_TO, to);
    reorder_->run(scratchpad);
  }

 private:
  std::size_t bytes_;
  std::unique_ptr<Primitive> reorder_;
};

// The argument that each operand and the result is to a primitive.
struct Roles {
  int first, second, result;
};

// A primitive with two operands of which one of the three tensors is a convolution's kernel, whose
// layout differs from the graph's: scratch memory holds it, then the scratchpad.
class OneDnnKernel : public Kernel {
 public:
  OneDnnKernel(Primitive primitive, Roles roles, int weights_role, Relayout relayout)
      : primitive_(std::move(primitive)),
        roles_(roles),
        weights_role_(weights_role),
        relayout_(std::move(relayout)) {}

  void run(const Arguments& arguments) override {
    translating_errors([&] { run_unguarded(arguments); });
  }
  std::size_t scratch_bytes() const override {
    return relayout_.bytes() +
           std::max(relayout_.scratchpad_bytes(), primitive_.scratchpad_bytes());
  }

 private:
  void run_unguarded(const Arguments& arguments) {
    std::byte* scratchpad = arguments.scratch + relayout_.bytes();
    primitive_.set(roles_.first, arguments.inputs[0]);
    primitive_.set(roles_.second, arguments.inputs[1]);
    primitive_.set(roles_.result, arguments.outputs[0]);
    const bool is_result = weights_role_ == roles_.result;
    if (relayout_.needed()) {
      if (!is_result) relayout_.run(arguments.inputs[1], arguments.scratch, scratchpad);
      primitive_.set(weights_role_, arguments.scratch);
    }
    primitive_.run(scratchpad);
    if (relayout_.needed() && is_result) {
      relayout_.run(arguments.scratch, arguments.outputs[0], scratchpad);
    }
  }

  Primitive primitive_;
  Roles roles_;
  int weights_role_;
  Relayout relayout_;
};

}  // namespace

std::unique_ptr<Kernel> convolution(const OneDnn& onednn, const ConvolutionGeometry& geometry) {
  return translating_errors([&]() -> std::unique_ptr<Kernel> {
    const auto d = describe_forward(onednn.context(), Arguments2d(geometry));
    Primitive primitive(onednn.context(), d, false);
    primitive.add(DNNL_ARG_SRC, d.src_desc());
    primitive.add(DNNL_ARG_WEIGHTS, d.weights_desc());
    primitive.add(DNNL_ARG_DST, d.dst_desc());
    return std::make_unique<OneDnnKernel>(
        std::move(primitive), Roles{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}, DNNL_ARG_WEIGHTS,
        Relayout(onednn.context(), weights(geometry.kernel, Tag::hwio), d.weights_desc()));
  });
}

std::unique_ptr<Kernel> convolution_backward_data(const OneDnn& onednn,
                                                  const ConvolutionGeometry& geometry) {
  return translating_errors([&]() -> std::unique_ptr<Kernel> {
    const auto d = describe_backward_data(onednn.context(), Arguments2d(geometry));
    Primitive primitive(onednn.context(), d, false);
    primitive.add(DNNL_ARG_DIFF_DST, d.diff_dst_desc());
    primitive.add(DNNL_ARG_WEIGHTS, d.weights_desc());
    primitive.add(DNNL_ARG_DIFF_SRC, d.diff_src_desc());
    return std::make_unique<OneDnnKernel>(
        std::move(primitive), Roles{DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC},
        DNNL_ARG_WEIGHTS,
        Relayout(onednn.context(), weights(geometry.kernel, Tag::hwio), d.weights_desc()));
  });
}

std::unique_ptr<Kernel> convolution_backward_weights(const OneDnn& onednn,
                                                     const ConvolutionGeometry& geometry) {
  return translating_errors([&]() -> std::unique_ptr<Kernel> {
    const auto d = describe_backward_weights(onednn.context(), Arguments2d(geometry));
    Primitive primitive(onednn.context(), d, false);
    primitive.add(DNNL_ARG_SRC, d.src_desc());
    primitive.add(DNNL_ARG_DIFF_DST, d.diff_dst_desc());
    primitive.add(DNNL_ARG_DIFF_WEIGHTS, d.diff_weights_desc());
    return std::make_unique<OneDnnKernel>(
        std::move(primitive), Roles{DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS},
        DNNL_ARG_DIFF_WEIGHTS,
        Relayout(onednn.context(), d.diff_weights_desc(), weights(geometry.kernel, Tag::hwio)));
  });
}

std::unique_ptr<Kernel> matrix_product(const OneDnn& onednn, const MatrixOperand& a,
                                       const MatrixOperand& b, const Shape& y) {
  const auto matrix = [](const MatrixOperand& m) -> Desc {
    if (m.transposed) return {{m.shape[1], m.shape[0]}, kF32, Tag::ba};
    return {{m.shape[0], m.shape[1]}, kF32, Tag::ab};
  };
  // A multiply-add costs far less than an element that comes from memory.
  const bool serial = y.elements() * a.shape[a.transposed ? 0 : 1] < 16 * kParallelElements;
  const SerialScope scope(serial);
  return translating_errors([&]() -> std::unique_ptr<Kernel> {
    const auto d = describe_product(onednn.context(), matrix(a), matrix(b), matrix({y, false}));
    Primitive primitive(onednn.context(), d, serial);
    primitive.add(DNNL_ARG_SRC, d.src_desc());
    primitive.add(DNNL_ARG_WEIGHTS, d.weights_desc());
    primitive.add(DNNL_ARG_DST, d.dst_desc());
    return std::make_unique<OneDnnKernel>(
        std::move(primitive), Roles{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}, DNNL_ARG_WEIGHTS,
        Relayout(onednn.context(), d.weights_desc(), d.weights_desc()));
  });
}

}  // namespace toroid::cpu
