// A thin adapter to oneDNN, for the kernels that use it. It hides what differs between the versions
// 2.x and 3.x: how descriptors are made.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "toroid/backends/cpu/kernel.h"

namespace toroid::cpu {

/// The engine and stream of one backend.
class OneDnn {
 public:
  OneDnn() : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  const dnnl::engine& engine() const { return engine_; }
  /// Primitives run in the calling thread's OpenMP team and are done when execute returns.
  const dnnl::stream& stream() const { return stream_; }

 private:
  dnnl::engine engine_;
  dnnl::stream stream_;
};

/// Scratchpads come from the caller, out of the planned arena.
dnnl::primitive_attr scratchpad_attributes();

/// A convolution's tensors (logical order NCHW and OIHW, as oneDNN wants) and geometry.
struct ConvolutionDescription {
  dnnl::memory::desc x, kernel, y;
  dnnl::memory::dims stride, padding_before, padding_after;
};

dnnl::convolution_forward::primitive_desc forward_convolution(const OneDnn& onednn,
                                                              const ConvolutionDescription& d);
dnnl::convolution_backward_data::primitive_desc backward_data_convolution(
    const OneDnn& onednn, const ConvolutionDescription& d);
dnnl::convolution_backward_weights::primitive_desc backward_weights_convolution(
    const OneDnn& onednn, const ConvolutionDescription& d);
dnnl::matmul::primitive_desc matrix_product(const OneDnn& onednn, const dnnl::memory::desc& a,
                                            const dnnl::memory::desc& b,
                                            const dnnl::memory::desc& y);

/// A primitive with its memory objects, built once; buffers are put in for each run.
class Primitive {
 public:
  template <class Description>
  Primitive(const OneDnn& onednn, const Description& description)
      : stream_(onednn.stream()),
        primitive_(description.get()),
        engine_(onednn.engine()),
        scratchpad_bytes_(description.scratchpad_desc().get_size()) {
    add(DNNL_ARG_SCRATCHPAD, description.scratchpad_desc());
  }

  void add(int argument, const dnnl::memory::desc& description) {
    arguments_.emplace(argument, dnnl::memory(description, engine_, nullptr));
  }
  std::size_t scratchpad_bytes() const { return scratchpad_bytes_; }

  /// The buffer of an argument for the runs that follow.
  void set(int argument, const void* data) {
    arguments_.at(argument).set_data_handle(const_cast<void*>(data));
  }
  void run(std::byte* scratchpad) {
    set(DNNL_ARG_SCRATCHPAD, scratchpad);
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  dnnl::engine engine_;
  std::size_t scratchpad_bytes_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

/// Copies a tensor between two layouts; nothing to do where they are the same.
class Reorder {
 public:
  Reorder(const OneDnn& onednn, const dnnl::memory::desc& from, const dnnl::memory::desc& to);

  bool needed() const { return primitive_ != nullptr; }
  std::size_t scratchpad_bytes() const { return needed() ? primitive_->scratchpad_bytes() : 0; }
  void run(const void* from, void* to, std::byte* scratchpad);

 private:
  std::unique_ptr<Primitive> primitive_;
};

}  // namespace toroid::cpu
