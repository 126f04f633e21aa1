#include "toroid/ops/elementwise.h"

#include <cmath>

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"
#include "toroid/backends/cpu/vectors.h"
#include "toroid/base/error.h"

namespace toroid::cpu {
namespace {

template <class F>
TOROID_INLINE void map(const float* x, float* y, std::int64_t first, std::int64_t last, F f) {
#pragma omp simd
  for (std::int64_t i = first; i < last; ++i) y[i] = f(x[i]);
}

TOROID_CLONES void unary(UnaryKind kind, const float* x, float* y, std::int64_t first,
                         std::int64_t last) {
  switch (kind) {
    case UnaryKind::kNegate:
      return map(x, y, first, last, [](float a) { return -a; });
    case UnaryKind::kExp:
      return map(x, y, first, last, [](float a) { return std::exp(a); });
    case UnaryKind::kExpm1:
      return map(x, y, first, last, [](float a) { return std::expm1(a); });
    case UnaryKind::kLog:
      return map(x, y, first, last, [](float a) { return std::log(a); });
    case UnaryKind::kSqrt:
      return map(x, y, first, last, [](float a) { return std::sqrt(a); });
  }
}

// a and b, one of which may be a scalar that meets every element of the other.
struct Pair {
  const float *a, *b;
  bool a_scalar, b_scalar;
};

template <class F>
TOROID_INLINE void map(Pair in, float* y, std::int64_t first, std::int64_t last, F f) {
  const float *a = in.a, *b = in.b;
  if (in.a_scalar) {
    const float scalar = *a;
    return map(b, y, first, last, [=](float element) { return f(scalar, element); });
  }
  if (in.b_scalar) {
    const float scalar = *b;
    return map(a, y, first, last, [=](float element) { return f(element, scalar); });
  }
#pragma omp simd
  for (std::int64_t i = first; i < last; ++i) y[i] = f(a[i], b[i]);
}

TOROID_CLONES void binary(BinaryKind kind, Pair in, float* y, std::int64_t first,
                          std::int64_t last) {
  switch (kind) {
    case BinaryKind::kAdd:
      return map(in, y, first, last, [](float a, float b) { return a + b; });
    case BinaryKind::kSubtract:
      return map(in, y, first, last, [](float a, float b) { return a - b; });
    case BinaryKind::kMultiply:
      return map(in, y, first, last, [](float a, float b) { return a * b; });
    case BinaryKind::kDivide:
      return map(in, y, first, last, [](float a, float b) { return a / b; });
    case BinaryKind::kMaximum:  // a NaN on either side stays
      return map(in, y, first, last, [](float a, float b) { return a >= b || a != a ? a : b; });
  }
}

// The gradients of branches that meet are added in bf16 too; nothing else is done in it here.
TOROID_CLONES void add(const BFloat16* a, const BFloat16* b, BFloat16* y, std::int64_t first,
                       std::int64_t last) {
  for_each_lanes(first, last, [=](auto whole, std::int64_t i, std::int64_t n) TOROID_INLINE_LAMBDA {
    Lanes sum, other;
    load_lanes<whole.value>(a + i, n, sum);
    load_lanes<whole.value>(b + i, n, other);
    sum += other;
    store_lanes<whole.value>(sum, n, y + i);
  });
}

class Bf16AddKernel : public Kernel {
 public:
  explicit Bf16AddKernel(const NodeContext& context) : elements_(context.outputs()[0].elements()) {}

  void run(const Arguments& arguments) override {
    const auto *a = arguments.input<BFloat16>(0), *b = arguments.input<BFloat16>(1);
    auto* y = arguments.output<BFloat16>();
    parallel_ranges(elements_, 1,
                    [&](std::int64_t first, std::int64_t last) { add(a, b, y, first, last); });
  }
  Reuse reuse(std::size_t, std::size_t) const override { return Reuse::kOverwrite; }

 private:
  std::int64_t elements_;
};

class UnaryKernel : public Kernel {
 public:
  explicit UnaryKernel(const NodeContext& context)
      : kind_(context.op<Unary>().kind), elements_(context.inputs[0].elements()) {}

  void run(const Arguments& arguments) override {
    const auto* x = arguments.input<float>(0);
    auto* y = arguments.output<float>();
    parallel_ranges(elements_, 1, [&](std::int64_t first, std::int64_t last) {
      unary(kind_, x, y, first, last);
    });
  }
  Reuse reuse(std::size_t, std::size_t) const override { return Reuse::kOverwrite; }

 private:
  UnaryKind kind_;
  std::int64_t elements_;
};

class BinaryKernel : public Kernel {
 public:
  explicit BinaryKernel(const NodeContext& context)
      : kind_(context.op<Binary>().kind),
        elements_(context.outputs()[0].elements()),
        a_scalar_(context.inputs[0].shape.is_scalar()),
        b_scalar_(context.inputs[1].shape.is_scalar()) {}

  void run(const Arguments& arguments) override {
    const Pair in{arguments.input<float>(0), arguments.input<float>(1), a_scalar_, b_scalar_};
    auto* y = arguments.output<float>();
    parallel_ranges(elements_, 1, [&](std::int64_t first, std::int64_t last) {
      binary(kind_, in, y, first, last);
    });
  }
  Reuse reuse(std::size_t, std::size_t) const override { return Reuse::kOverwrite; }

 private:
  BinaryKind kind_;
  std::int64_t elements_;
  bool a_scalar_, b_scalar_;
};

class CompareKernel : public Kernel {
 public:
  explicit CompareKernel(const NodeContext& context)
      : kind_(context.op<Compare>().kind),
        dtype_(context.inputs[0].dtype),
        elements_(context.outputs()[0].elements()),
        a_step_(context.inputs[0].shape.is_scalar() ? 0 : 1),
        b_step_(context.inputs[1].shape.is_scalar() ? 0 : 1) {}

  void run(const Arguments& arguments) override {
    switch (dtype_) {
      case DType::f32:
        return compare<float>(arguments);
      case DType::i32:
        return compare<std::int32_t>(arguments);
      case DType::u32:
        return compare<std::uint32_t>(arguments);
      case DType::u8:
      case DType::boolean:
        return compare<std::uint8_t>(arguments);
      default:
        fail("cannot compare {}", name_of(dtype_));
    }
  }

 private:
  template <class T>
  void compare(const Arguments& arguments) const {
    switch (kind_) {
      case CompareKind::kEqual:
        return compare<T>(arguments, [](T a, T b) { return a == b; });
      case CompareKind::kLess:
        return compare<T>(arguments, [](T a, T b) { return a < b; });
      case CompareKind::kGreaterEqual:
        return compare<T>(arguments, [](T a, T b) { return a >= b; });
    }
  }

  template <class T, class F>
  void compare(const Arguments& arguments, F f) const {
    const auto *a = arguments.input<T>(0), *b = arguments.input<T>(1);
    auto* y = arguments.output<bool>();
    parallel_ranges(elements_, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) y[i] = f(a[i * a_step_], b[i * b_step_]);
    });
  }

  CompareKind kind_;
  DType dtype_;
  std::int64_t elements_, a_step_, b_step_;
};

class IsFiniteKernel : public Kernel {
 public:
  explicit IsFiniteKernel(const NodeContext& context) : elements_(context.inputs[0].elements()) {}

  void run(const Arguments& arguments) override {
    const auto* x = arguments.input<float>(0);
    auto* y = arguments.output<bool>();
    parallel_ranges(elements_, 1, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) y[i] = std::isfinite(x[i]);
    });
  }

 private:
  std::int64_t elements_;
};

using Word = std::uint32_t;  // four bytes of any type

TOROID_CLONES void select(const bool* condition, const Word* a, const Word* b, Word* y,
                          std::int64_t first, std::int64_t last) {
#pragma omp simd
  for (std::int64_t i = first; i < last; ++i) y[i] = condition[i] ? a[i] : b[i];
}

class SelectKernel : public Kernel {
 public:
  explicit SelectKernel(const NodeContext& context)
      : scalar_(context.inputs[0].shape.is_scalar()), type_(context.outputs()[0]) {}

  void run(const Arguments& arguments) override {
    if (scalar_) return choose(arguments);
    if (size_of(type_.dtype) == sizeof(Word)) return per_element<Word>(arguments);
    per_element<std::uint8_t>(arguments);
  }
  Reuse reuse(std::size_t input, std::size_t) const override {
    return input == 0 ? Reuse::kNone : Reuse::kOverwrite;
  }

 private:
  void choose(const Arguments& arguments) const {
    const std::byte* from = arguments.inputs[*arguments.input<bool>(0) ? 1 : 2];
    std::byte* to = arguments.outputs[0];
    if (from == to) return;
    parallel_ranges(static_cast<std::int64_t>(type_.bytes()), 1,
                    [&](std::int64_t first, std::int64_t last) {
                      std::copy(from + first, from + last, to + first);
                    });
  }

  template <class T>
  void per_element(const Arguments& arguments) const {
    const auto* condition = arguments.input<bool>(0);
    const auto *a = arguments.input<T>(1), *b = arguments.input<T>(2);
    auto* y = arguments.output<T>();
    parallel_ranges(type_.elements(), 1, [&](std::int64_t first, std::int64_t last) {
      if constexpr (std::is_same_v<T, Word>) {
        select(condition, a, b, y, first, last);
      } else {
        for (std::int64_t i = first; i < last; ++i) y[i] = condition[i] ? a[i] : b[i];
      }
    });
  }

  bool scalar_;
  TensorType type_;
};

}  // namespace

std::unique_ptr<Kernel> make_unary(const NodeContext& context) {
  return std::make_unique<UnaryKernel>(context);
}
std::unique_ptr<Kernel> make_binary(const NodeContext& context) {
  if (context.outputs()[0].dtype != DType::bf16) return std::make_unique<BinaryKernel>(context);
  const bool same = context.inputs[0].shape == context.inputs[1].shape;
  if (!same || context.op<Binary>().kind != BinaryKind::kAdd) {
    fail("bf16 tensors can be added element by element, nothing else");
  }
  return std::make_unique<Bf16AddKernel>(context);
}
std::unique_ptr<Kernel> make_compare(const NodeContext& context) {
  return std::make_unique<CompareKernel>(context);
}
std::unique_ptr<Kernel> make_is_finite(const NodeContext& context) {
  return std::make_unique<IsFiniteKernel>(context);
}
std::unique_ptr<Kernel> make_select(const NodeContext& context) {
  return std::make_unique<SelectKernel>(context);
}

}  // namespace toroid::cpu
