// What the kernels in oneDNN share. For the files named onednn_* alone.
#pragma once

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "toroid/backends/cpu/onednn.h"
#include "toroid/backends/cpu/parallel.h"
#include "toroid/base/error.h"

namespace toroid::cpu {

struct OneDnn::Context {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

namespace onednn {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
using Context = OneDnn::Context;

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
inline dnnl::primitive_attr attributes() {
  dnnl::primitive_attr result;
  result.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return result;
}

inline dnnl::memory::data_type data_type(DType dtype) {
  return dtype == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

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
    memories_.emplace_back(description, engine_, nullptr);
    arguments_.push_back({argument, memories_.back().get()});
  }
  std::size_t scratchpad_bytes() const { return scratchpad_bytes_; }

  // The buffer of an argument for the runs that follow.
  void set(int argument, const std::byte* data) {
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (arguments_[i].arg == argument) memories_[i].set_data_handle(const_cast<std::byte*>(data));
    }
  }
  // In C, since the C++ interface would copy the arguments into fresh memory each time.
  void run(std::byte* scratchpad) {
    const SerialScope scope(serial_);
    set(DNNL_ARG_SCRATCHPAD, scratchpad);
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(arguments_.size()),
                               arguments_.data()),
        "cannot run a primitive");
    stream_.wait();
  }

 private:
  bool serial_;
  dnnl::stream stream_;
  dnnl::engine engine_;
  dnnl::primitive primitive_;
  std::size_t scratchpad_bytes_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> arguments_;  // of the same places
};

// A reorder, or nothing where both sides agree.
class Reorder {
 public:
  Reorder(const Context& context, const Desc& from, const Desc& to)
      : bytes_(from == to ? 0 : aligned(std::max(from.get_size(), to.get_size()))) {
    if (from == to) return;
    const bool serial = bytes_ < static_cast<std::size_t>(kParallelElements) * sizeof(float);
    const SerialScope scope(serial);
    const dnnl::reorder::primitive_desc description(context.engine, from, context.engine, to,
                                                    attributes());
    primitive_ = std::make_unique<Primitive>(context, description, serial);
    primitive_->add(DNNL_ARG_FROM, from);
    primitive_->add(DNNL_ARG_TO, to);
  }

  bool needed() const { return primitive_ != nullptr; }
  // Of the larger side.
  std::size_t bytes() const { return bytes_; }
  std::size_t scratchpad_bytes() const { return needed() ? primitive_->scratchpad_bytes() : 0; }
  void run(const std::byte* from, std::byte* to, std::byte* scratchpad) {
    primitive_->set(DNNL_ARG_FROM, from);
    primitive_->set(DNNL_ARG_TO, to);
    primitive_->run(scratchpad);
  }

 private:
  std::size_t bytes_;
  std::unique_ptr<Primitive> primitive_;
};

// The argument that each operand and the result is to a primitive.
struct Roles {
  int first, second, result;
};

// A primitive with two operands, one of whose three tensors may have to be moved between the
// graph's layout and the primitive's: scratch memory holds it, then the scratchpad.
class TwoOperandKernel : public Kernel {
 public:
  TwoOperandKernel(Primitive primitive, Roles roles, int moved_role, Reorder reorder)
      : primitive_(std::move(primitive)),
        roles_(roles),
        moved_role_(moved_role),
        reorder_(std::move(reorder)) {}

  void run(const Arguments& arguments) override {
    translating_errors([&] { run_unguarded(arguments); });
  }
  std::size_t scratch_bytes() const override {
    return reorder_.bytes() + std::max(reorder_.scratchpad_bytes(), primitive_.scratchpad_bytes());
  }

 private:
  void run_unguarded(const Arguments& arguments) {
    std::byte* scratchpad = arguments.scratch + reorder_.bytes();
    primitive_.set(roles_.first, arguments.inputs[0]);
    primitive_.set(roles_.second, arguments.inputs[1]);
    primitive_.set(roles_.result, arguments.outputs[0]);
    const bool is_result = moved_role_ == roles_.result;
    if (reorder_.needed()) {
      if (!is_result) reorder_.run(arguments.inputs[1], arguments.scratch, scratchpad);
      primitive_.set(moved_role_, arguments.scratch);
    }
    primitive_.run(scratchpad);
    if (reorder_.needed() && is_result) {
      reorder_.run(arguments.scratch, arguments.outputs[0], scratchpad);
    }
  }

  Primitive primitive_;
  Roles roles_;
  int moved_role_;
  Reorder reorder_;
};

}  // namespace onednn
}  // namespace toroid::cpu
