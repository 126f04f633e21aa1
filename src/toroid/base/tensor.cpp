#include "toroid/base/tensor.h"

#include <fmt/format.h>

#include <cstdlib>
#include <new>

#include "toroid/base/error.h"

namespace toroid {
namespace {

// Calls f with a null pointer of the C++ type that stores dtype.
template <class F>
void dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f(static_cast<double*>(nullptr));
    case DType::f32:
      return f(static_cast<float*>(nullptr));
    case DType::bf16:
      return f(static_cast<BFloat16*>(nullptr));
    case DType::i32:
      return f(static_cast<std::int32_t*>(nullptr));
    case DType::u32:
      return f(static_cast<std::uint32_t*>(nullptr));
    case DType::u8:
      return f(static_cast<std::uint8_t*>(nullptr));
    case DType::boolean:
      return f(static_cast<bool*>(nullptr));
  }
}

template <class T>
double widen(T value) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return static_cast<float>(value);
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
T narrow(double value) {
  if constexpr (std::is_same_v<T, BFloat16>) {
    return BFloat16(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace

std::string TensorType::str() const {
  return fmt::format("{}{}", name_of(dtype), shape.str());
}

void Tensor::Free::operator()(std::byte* pointer) const {
  std::free(pointer);
}

Tensor::Tensor(TensorType type) : type_(std::move(type)) {
  for (const std::int64_t dim : type_.shape) {
    if (dim < 0) fail("tensor of type {}: a dimension is negative", type_.str());
  }
  const std::size_t padded = (bytes() + kAlignment - 1) / kAlignment * kAlignment;
  auto* memory =
      static_cast<std::byte*>(std::aligned_alloc(kAlignment, padded ? padded : kAlignment));
  if (memory == nullptr)
    fail("out of memory: {} bytes for a tensor of type {}", padded, type_.str());
  buffer_.reset(memory);
  std::memset(memory, 0, padded);
}

Tensor::Tensor(const Tensor& other) : Tensor(other.type_) {
  std::memcpy(raw(), other.raw(), bytes());
}

Tensor& Tensor::operator=(const Tensor& other) {
  if (this != &other) *this = Tensor(other);
  return *this;
}

void Tensor::check_dtype(DType wanted) const {
  if (dtype() != wanted) fail("tensor of type {} read as {}", type_.str(), name_of(wanted));
}

void Tensor::check_elements(std::size_t count) const {
  if (static_cast<std::int64_t>(count) != elements()) {
    fail("{} elements given for a tensor of type {}", count, type_.str());
  }
}

double Tensor::item() const {
  check_elements(1);
  double result = 0;
  dispatch(dtype(), [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    result = widen(values<T>()[0]);
  });
  return result;
}

Tensor Tensor::converted(DType target) const {
  Tensor result(target, shape());
  dispatch(dtype(), [&](auto* from_tag) {
    using From = std::remove_pointer_t<decltype(from_tag)>;
    dispatch(target, [&](auto* to_tag) {
      using To = std::remove_pointer_t<decltype(to_tag)>;
      const auto from = values<From>();
      const auto to = result.values<To>();
      for (std::size_t i = 0; i < from.size(); ++i) to[i] = narrow<To>(widen(from[i]));
    });
  });
  return result;
}

Tensor Tensor::reshaped(Shape shape) const {
  Tensor result(dtype(), std::move(shape));
  result.check_elements(static_cast<std::size_t>(elements()));
  std::memcpy(result.raw(), raw(), bytes());
  return result;
}

bool Tensor::identical(const Tensor& other) const {
  return type_ == other.type_ && std::memcmp(raw(), other.raw(), bytes()) == 0;
}

}  // namespace toroid
