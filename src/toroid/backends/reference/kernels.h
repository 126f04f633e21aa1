// The kernels of the reference backend: obvious loops, one function per op, that define what each
// op means. Other backends are tested against them.
//
// Sums and everything else inside a kernel are double, whatever the element type; results are
// rounded once. So f32 results are those of the exact op but for that rounding.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "toroid/base/error.h"
#include "toroid/comm/communicator.h"
#include "toroid/graph/op.h"

namespace toroid::reference {

/// One application of an op.
struct KernelCall {
  const Op& op;
  std::span<const Tensor* const> inputs;
  std::span<Tensor* const> outputs;  ///< of the inferred types, all elements zero
  Communicator& communicator;
  /// Of a collective in flight: set by its start, waited for by its done; null for other ops.
  std::unique_ptr<Request>* request;

  template <class T>
  const T& attributes() const {
    return *op.as<T>();
  }
  const Shape& shape(std::size_t i) const { return inputs[i]->shape(); }
  template <class T>
  std::span<const T> input(std::size_t i) const {
    return inputs[i]->values<T>();
  }
  template <class T>
  std::span<T> output(std::size_t i = 0) const {
    return outputs[i]->values<T>();
  }
};

using Kernel = void (*)(const KernelCall& call);

/// The kernel of an op by its name; null when there is none.
Kernel find_kernel(std::string_view op);

/// Calls f(double{}) or f(float{}); Error for other types.
template <class F>
void with_float(DType dtype, F&& f) {
  if (dtype == DType::f64) return f(double{});
  if (dtype == DType::f32) return f(float{});
  fail("the reference backend computes in f32 and f64, not in {}", name_of(dtype));
}

/// Rounds what a kernel summed in double to the element type of its output.
template <class T>
void store(const std::vector<double>& sums, std::span<T> output) {
  for (std::size_t i = 0; i < output.size(); ++i) output[i] = static_cast<T>(sums[i]);
}

void add_bias(const KernelCall& call);
void all_gather_start(const KernelCall& call);
void all_reduce_start(const KernelCall& call);
void avg_pool(const KernelCall& call);
void avg_pool_gradient(const KernelCall& call);
void axis_index(const KernelCall& call);
void batch_norm_apply(const KernelCall& call);
void batch_norm_gradient_sums(const KernelCall& call);
void batch_norm_input_gradient(const KernelCall& call);
void batch_norm_statistics(const KernelCall& call);
void binary(const KernelCall& call);
void broadcast(const KernelCall& call);
void collective_done(const KernelCall& call);
void compare(const KernelCall& call);
void concat(const KernelCall& call);
void constant(const KernelCall& call);
void conv2d(const KernelCall& call);
void conv2d_input_gradient(const KernelCall& call);
void conv2d_kernel_gradient(const KernelCall& call);
void convert(const KernelCall& call);
void dropout(const KernelCall& call);
void in_top_k(const KernelCall& call);
void is_finite(const KernelCall& call);
void local_response_norm(const KernelCall& call);
void local_response_norm_gradient(const KernelCall& call);
void matmul(const KernelCall& call);
void max_pool(const KernelCall& call);
void max_pool_gradient(const KernelCall& call);
void normalize_images(const KernelCall& call);
void reduce_scatter_start(const KernelCall& call);
void relu(const KernelCall& call);
void relu_gradient(const KernelCall& call);
void reshape(const KernelCall& call);
void select(const KernelCall& call);
void slice(const KernelCall& call);
void softmax_cross_entropy(const KernelCall& call);
void softmax_cross_entropy_gradient(const KernelCall& call);
void sum(const KernelCall& call);
void sum_squares(const KernelCall& call);
void unary(const KernelCall& call);

}  // namespace toroid::reference
