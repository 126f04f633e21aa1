// A thin adapter to oneDNN 2.x and 3.x: the kernels that run in it. Nothing else includes oneDNN.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "toroid/backends/cpu/kernel.h"

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

/// x [N,H,W,C], kernel [kh,kw,C,K], y [N,OH,OW,K]; padding: top, bottom, left, right.
struct ConvolutionGeometry {
  Shape x, kernel, y;
  std::array<std::int64_t, 2> stride;
  std::array<std::int64_t, 4> padding;
};

/// Activations are NHWC and kernels HWIO in memory. A kernel, or its gradient, is brought into and
/// out of the layout that oneDNN prefers in each run, in scratch memory.
std::unique_ptr<Kernel> convolution(const OneDnn& onednn, const ConvolutionGeometry& geometry);
/// Operands dy, kernel.
std::unique_ptr<Kernel> convolution_backward_data(const OneDnn& onednn,
                                                  const ConvolutionGeometry& geometry);
/// Operands x, dy.
std::unique_ptr<Kernel> convolution_backward_weights(const OneDnn& onednn,
                                                     const ConvolutionGeometry& geometry);

/// A stored matrix, and whether the product reads it transposed.
struct MatrixOperand {
  Shape shape;
  bool transposed;
};
std::unique_ptr<Kernel> matrix_product(const OneDnn& onednn, const MatrixOperand& a,
                                       const MatrixOperand& b, const Shape& y);

}  // namespace toroid::cpu
