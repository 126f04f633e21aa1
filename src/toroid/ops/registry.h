// Every op by name, and worked cases of each: what the tests of gradients and backends walk over.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "toroid/graph/builder.h"

namespace toroid {

/// The names of all ops, one line each in registry.cpp. A backend has a kernel for each.
const std::vector<std::string_view>& op_names();

/// How a case's operand is filled.
enum class Fill {
  kNormal,    ///< standard normal
  kPositive,  ///< in [0.5, 2)
  kDistinct,  ///< all elements different, a random order of evenly spaced values in (-2, 2)
  kLabels,    ///< i32 in 0 .. bound-1
  kMask,      ///< float 0 or 1, the first always 1
  kPixels,    ///< u8 0 .. 255
  kBits,      ///< bool
  kWords,     ///< u32, any
};

struct Operand {
  TensorType type;
  Fill fill = Fill::kNormal;
  int bound = 0;  ///< for kLabels
};

/// One op over one set of shapes, chosen at the edges: 1x1 pictures, odd sizes, one channel,
/// channels that are no multiple of 16, padding on one side, strides above the kernel.
struct OpCase {
  std::string op;
  std::string label;
  std::vector<Operand> operands;
  /// Adds the op (and what must go with it) and returns its results.
  std::function<std::vector<Value>(Builder&, const std::vector<Value>&)> build;
  /// Operands that a finite difference may disturb; empty when the op is not differentiable.
  std::vector<std::size_t> differentiable;
};

/// All cases, with `float_type` (f64, f32) as the type of their floating-point operands.
std::vector<OpCase> op_cases(DType float_type);

/// The operand's elements, a pure function of (seed, position, type, fill); the same values,
/// rounded, for every float type.
Tensor make_operand(const Operand& operand, std::uint64_t seed, std::uint32_t position);

}  // namespace toroid
