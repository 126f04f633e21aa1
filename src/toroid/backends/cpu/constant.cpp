#include "toroid/ops/constant.h"

#include <cstring>

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"
#include "toroid/backends/cpu/vectors.h"
#include "toroid/base/error.h"

namespace toroid::cpu {
namespace {

// Calls f with a value of the C++ type that stores the dtype.
template <class F>
void with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32:
      return f(float{});
    case DType::bf16:
      return f(BFloat16{});
    case DType::i32:
      return f(std::int32_t{});
    case DType::u32:
      return f(std::uint32_t{});
    case DType::u8:
      return f(std::uint8_t{});
    case DType::boolean:
      return f(bool{});
    default:
      fail("{} has no conversion here", name_of(dtype));
  }
}

// bf16 is known to f32 alone.
template <class To, class From>
TOROID_INLINE To converted(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, BFloat16>) {
    return static_cast<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, BFloat16>) {
    return BFloat16(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <class From, class To>
inline constexpr bool is_vectorized = (std::is_same_v<From, float> &&
                                       std::is_same_v<To, BFloat16>) ||
                                      (std::is_same_v<From, BFloat16> && std::is_same_v<To, float>);

template <class From, class To>
void convert_each(const From* x, To* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = converted<To>(x[i]);
}

class ConstantKernel : public Kernel {
 public:
  explicit ConstantKernel(const NodeContext& context)
      : value_(context.op<Constant>().value), type_(context.outputs()[0]) {}

  void run(const Arguments& arguments) override {
    with_type(type_.dtype, [&]<class T>(T) {
      auto* y = arguments.output<T>();
      const T value = converted<T>(value_);
      parallel_ranges(type_.elements(), 1, [&](std::int64_t first, std::int64_t last) {
        std::fill(y + first, y + last, value);
      });
    });
  }

 private:
  double value_;
  TensorType type_;
};

class ConvertKernel : public Kernel {
 public:
  explicit ConvertKernel(const NodeContext& context)
      : from_(context.inputs[0].dtype), type_(context.outputs()[0]) {}

  void run(const Arguments& arguments) override {
    if (from_ == type_.dtype) {
      std::memmove(arguments.outputs[0], arguments.inputs[0], type_.bytes());
      return;
    }
    with_type(from_, [&]<class From>(From) {
      with_type(type_.dtype, [&]<class To>(To) { convert<From, To>(arguments); });
    });
  }
  Reuse reuse(std::size_t, std::size_t) const override {
    return from_ == type_.dtype ? Reuse::kSame : Reuse::kNone;
  }

 private:
  template <class From, class To>
  void convert(const Arguments& arguments) const {
    const auto* x = arguments.input<From>(0);
    auto* y = arguments.output<To>();
    parallel_ranges(type_.elements(), 1, [&](std::int64_t first, std::int64_t last) {
      if constexpr (is_vectorized<From, To>) {
        convert_range(x + first, y + first, last - first);
      } else {
        convert_each(x + first, y + first, last - first);
      }
    });
  }

  DType from_;
  TensorType type_;
};

}  // namespace

std::unique_ptr<Kernel> make_constant(const NodeContext& context) {
  return std::make_unique<ConstantKernel>(context);
}
std::unique_ptr<Kernel> make_convert(const NodeContext& context) {
  return std::make_unique<ConvertKernel>(context);
}

}  // namespace toroid::cpu
