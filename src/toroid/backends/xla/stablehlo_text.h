// Writing StableHLO, line by line: each function appends one operation to the body of @main and
// returns its result. The text is what the StableHLO specification calls its pretty form where one
// exists (openxla.org/stablehlo/spec), else the generic form.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "toroid/base/tensor.h"

namespace toroid {

/// A value of the text: "%stem.conv2d" and its type.
struct Ssa {
  std::string name;
  TensorType type;
};

using Dims = std::vector<std::int64_t>;

/// "tensor<2x3xf32>"
std::string mlir_type(const TensorType& type);
/// A literal for an element: the shortest decimal that reads back as the same number ("0.25",
/// "1.0e-05"), bits where there is none ("0xFF800000"), "true", "-7".
std::string mlir_literal(double value, DType dtype);
/// "[1, 2]"
std::string mlir_list(std::span<const std::int64_t> values);

/// How windows slide over an operand; one entry per dimension of it.
struct SlidingWindow {
  Dims size, stride;
  Dims low, high;      ///< padding
  Dims dilation = {};  ///< of the operand: 1 + the zeros between its elements; all 1 by default
};

class StablehloText {
 public:
  /// An unused name for a graph's path: characters that MLIR does not know become '.'.
  std::string name_for(std::string_view path);
  /// The values added from now on are named after `path`: "%path", "%path.1", "%path.2", ...
  void begin(std::string_view path);

  /// Appends "<result> = <operation>".
  Ssa line(const TensorType& result, std::string_view operation);
  /// The same for several results, which are "%name#0", "%name#1", ...
  std::vector<Ssa> lines(const std::vector<TensorType>& results, std::string_view operation);

  /// All elements alike.
  Ssa constant(double value, const TensorType& type);
  /// A vector.
  Ssa constant(std::span<const double> values, DType dtype);
  /// Each element is its index along `axis`.
  Ssa iota(const TensorType& type, std::int64_t axis);

  /// One of the operations whose operands and result have one type: "add", "sqrt".
  Ssa elementwise(std::string_view operation, const std::vector<Ssa>& operands);
  Ssa add(const Ssa& a, const Ssa& b) { return elementwise("add", {a, b}); }
  Ssa subtract(const Ssa& a, const Ssa& b) { return elementwise("subtract", {a, b}); }
  Ssa multiply(const Ssa& a, const Ssa& b) { return elementwise("multiply", {a, b}); }
  Ssa divide(const Ssa& a, const Ssa& b) { return elementwise("divide", {a, b}); }
  Ssa maximum(const Ssa& a, const Ssa& b) { return elementwise("maximum", {a, b}); }
  /// The number meets every element.
  Ssa add(const Ssa& a, double b) { return add(a, constant(b, a.type)); }
  Ssa multiply(const Ssa& a, double b) { return multiply(a, constant(b, a.type)); }
  Ssa maximum(const Ssa& a, double b) { return maximum(a, constant(b, a.type)); }
  /// direction: "EQ", "NE", "LT", "GT", "GE".
  Ssa compare(std::string_view direction, const Ssa& a, const Ssa& b);
  Ssa select(const Ssa& condition, const Ssa& a, const Ssa& b);
  /// x < 0 ? 0 : x, so that NaN stays: XLA's CPU compiler lets `maximum` drop it.
  Ssa relu(const Ssa& x);
  Ssa is_finite(const Ssa& x);
  /// Axis i of the result is x's axis `axes[i]`.
  Ssa transpose(const Ssa& x, const Dims& axes);
  /// One after the other along `axis`.
  Ssa concatenate(const std::vector<Ssa>& parts, std::int64_t axis);
  /// The elements start .. limit-1 along `axis`.
  Ssa slice(const Ssa& x, std::int64_t axis, std::int64_t start, std::int64_t limit);
  /// These three return x itself when nothing would change.
  Ssa convert(const Ssa& x, DType dtype);
  Ssa reshape(const Ssa& x, const Shape& shape);
  /// x's axis i becomes axis `axes[i]` of the result, which repeats x along the others.
  Ssa broadcast(const Ssa& x, const Shape& shape, const Dims& axes);

  /// The sum over `axes`, which disappear.
  Ssa sum(const Ssa& x, const Dims& axes) { return reduce(x, axes, "add", 0); }
  /// `operation` over `axes`; `initial` is its neutral element.
  Ssa reduce(const Ssa& x, const Dims& axes, std::string_view operation, double initial);
  Ssa max_window(const Ssa& x, const SlidingWindow& window, const TensorType& result);
  Ssa sum_window(const Ssa& x, const SlidingWindow& window, const TensorType& result);
  /// Zeros like x, plus each element of `source` where its window has its first largest element.
  Ssa scatter_to_max(const Ssa& x, const Ssa& source, const SlidingWindow& window);

  /// A region "{ ... }" that applies the operation to two scalars.
  static std::string region(std::string_view operation, DType dtype);

  const std::string& text() const { return text_; }

 private:
  std::string next_name();
  Ssa reduce_window(const Ssa& x, std::string_view operation, double initial,
                    const SlidingWindow& window, const TensorType& result);

  std::string text_;
  // Those taken; at first those inside regions, since MLIR forbids shadowing.
  std::set<std::string> names_{"lhs", "rhs", "result"};
  std::string base_ = "value";
  int count_ = 0;
};

/// The precision of products of this type: HIGHEST for f32, since a TPU would round the operands to
/// bf16 otherwise; DEFAULT for the rest.
std::string_view product_precision(DType dtype);

}  // namespace toroid
