#include "toroid/ops/elementwise.h"

#include <cmath>

#include "toroid/backends/reference/kernels.h"

namespace toroid::reference {
namespace {

double apply(UnaryKind kind, double x) {
  switch (kind) {
    case UnaryKind::kNegate:
      return -x;
    case UnaryKind::kExp:
      return std::exp(x);
    case UnaryKind::kExpm1:
      return std::expm1(x);
    case UnaryKind::kLog:
      return std::log(x);
    case UnaryKind::kSqrt:
      return std::sqrt(x);
  }
  return 0;
}

double apply(BinaryKind kind, double a, double b) {
  switch (kind) {
    case BinaryKind::kAdd:
      return a + b;
    case BinaryKind::kSubtract:
      return a - b;
    case BinaryKind::kMultiply:
      return a * b;
    case BinaryKind::kDivide:
      return a / b;
    case BinaryKind::kMaximum:
      return a >= b || std::isnan(a) ? a : b;  // NaN stays NaN
  }
  return 0;
}

bool apply(CompareKind kind, double a, double b) {
  switch (kind) {
    case CompareKind::kEqual:
      return a == b;
    case CompareKind::kLess:
      return a < b;
    case CompareKind::kGreaterEqual:
      return a >= b;
  }
  return false;
}

// Element i of an operand that may be a scalar.
template <class Values>
auto element(const Tensor& tensor, const Values& values, std::size_t i) {
  return values[tensor.shape().is_scalar() ? 0 : i];
}

}  // namespace

void unary(const KernelCall& call) {
  const UnaryKind kind = call.attributes<Unary>().kind;
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = call.input<T>(0);
    const auto y = call.output<T>();
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<T>(apply(kind, x[i]));
  });
}

void binary(const KernelCall& call) {
  const BinaryKind kind = call.attributes<Binary>().kind;
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto a = call.input<T>(0), b = call.input<T>(1);
    const auto y = call.output<T>();
    for (std::size_t i = 0; i < y.size(); ++i) {
      y[i] = static_cast<T>(
          apply(kind, element(*call.inputs[0], a, i), element(*call.inputs[1], b, i)));
    }
  });
}

void compare(const KernelCall& call) {
  // Every type's elements are doubles exactly.
  const Tensor left = call.inputs[0]->converted(DType::f64);
  const Tensor right = call.inputs[1]->converted(DType::f64);
  const auto a = left.values<double>(), b = right.values<double>();
  const auto y = call.output<bool>();
  const CompareKind kind = call.attributes<Compare>().kind;
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = apply(kind, element(left, a, i), element(right, b, i));
  }
}

void is_finite(const KernelCall& call) {
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = call.input<T>(0);
    const auto y = call.output<bool>();
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::isfinite(x[i]);
  });
}

void select(const KernelCall& call) {
  const auto condition = call.input<bool>(0);
  const std::size_t size = size_of(call.inputs[1]->dtype());
  const auto elements = static_cast<std::size_t>(call.outputs[0]->elements());
  for (std::size_t i = 0; i < elements; ++i) {
    const Tensor& chosen = *call.inputs[element(*call.inputs[0], condition, i) ? 1 : 2];
    std::memcpy(call.outputs[0]->raw() + i * size, chosen.raw() + i * size, size);
  }
}

}  // namespace toroid::reference
