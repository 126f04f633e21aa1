// The kernels that run in oneDNN, version 2 or 3. Only the files named onednn_* include it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "toroid/backends/cpu/kernel.h"
#include "toroid/backends/cpu/lay_out.h"

namespace toroid::cpu {

/// The engine and stream of one backend. Primitives run in the calling thread's OpenMP team.
class OneDnn {
 public:
  OneDnn();
  OneDnn(const OneDnn&) = delete;
  OneDnn& operator=(const OneDnn&) = delete;
  ~OneDnn();

  struct Context;
  const Context& context() const { return *context_; }

 private:
  std::unique_ptr<Context> context_;
};

/// x [N,H,W,C], kernel [kh,kw,C/G,K], y [N,OH,OW,K]; padding: top, bottom, left, right.
struct ConvolutionGeometry {
  Shape x, kernel, y;
  std::array<std::int64_t, 2> stride;
  std::array<std::int64_t, 4> padding;
  std::int64_t groups = 1;
  DType dtype = DType::f32;  ///< f32, or bf16; a kernel's gradient is f32 all the same
};

/// The layouts in which oneDNN would have a convolution's activations, as far as ours can express
/// them; else row-major.
ConvolutionLayouts preferred_layouts(const OneDnn& onednn, const ConvolutionGeometry& geometry);

/// The block of channels that this machine's f32 kernels want: 16, 8, or 0 for none.
std::int64_t preferred_kernel_block(const OneDnn& onednn);

/// A convolution with the layouts of its three tensors in memory. Where the primitive wants the
/// kernel, or gives its gradient, in another one, each run moves it in scratch memory.
struct ConvolutionPlan {
  ConvolutionGeometry geometry;
  Layout x, kernel, y;
  bool winograd = false;  ///< Winograd's algorithm where oneDNN has it for this convolution
};
std::unique_ptr<Kernel> convolution(const OneDnn& onednn, const ConvolutionPlan& plan);
/// Operands dy, kernel.
std::unique_ptr<Kernel> convolution_backward_data(const OneDnn& onednn,
                                                  const ConvolutionPlan& plan);
/// Operands x, dy.
std::unique_ptr<Kernel> convolution_backward_weights(const OneDnn& onednn,
                                                     const ConvolutionPlan& plan);

/// A stored matrix, and whether the product reads it transposed.
struct MatrixOperand {
  TensorType type;
  bool transposed;
};
std::unique_ptr<Kernel> matrix_product(const OneDnn& onednn, const MatrixOperand& a,
                                       const MatrixOperand& b, const TensorType& y);

/// From one layout to another.
std::unique_ptr<Kernel> relayout(const OneDnn& onednn, const TensorType& type, Layout from,
                                 Layout to);

}  // namespace toroid::cpu
