// A dense tensor in host memory.
#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "toroid/base/dtype.h"
#include "toroid/base/shape.h"

namespace toroid {

/// Element type and dimensions: what the graph knows of a tensor.
struct TensorType {
  DType dtype = DType::f32;
  Shape shape;

  std::int64_t elements() const { return shape.elements(); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(dtype); }
  /// "f32[32,28,28,1]"
  std::string str() const;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// Owns a row-major buffer aligned to 64 bytes. Copying copies the elements.
class Tensor {
 public:
  static constexpr std::size_t kAlignment = 64;

  Tensor() : Tensor(TensorType{DType::f32, Shape{0}}) {}
  /// All elements zero.
  explicit Tensor(TensorType type);
  Tensor(DType dtype, Shape shape) : Tensor(TensorType{dtype, std::move(shape)}) {}
  Tensor(const Tensor& other);
  Tensor& operator=(const Tensor& other);
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;
  ~Tensor() = default;

  /// A tensor of the given elements; Error unless their number fits the shape.
  template <class T>
  static Tensor of(Shape shape, std::span<const T> values) {
    Tensor result(dtype_of<T>, std::move(shape));
    result.check_elements(values.size());
    if (!values.empty()) std::memcpy(result.raw(), values.data(), result.bytes());
    return result;
  }
  template <class T>
  static Tensor of(Shape shape, std::initializer_list<T> values) {
    return of<T>(std::move(shape), std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  static Tensor scalar(T value) {
    return of<T>(Shape{}, {value});
  }

  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  std::int64_t elements() const { return type_.elements(); }
  std::size_t bytes() const { return type_.bytes(); }

  std::byte* raw() { return buffer_.get(); }
  const std::byte* raw() const { return buffer_.get(); }

  /// The elements as T; Error unless T stores this dtype.
  template <class T>
  std::span<T> values() {
    check_dtype(dtype_of<T>);
    return {reinterpret_cast<T*>(raw()), static_cast<std::size_t>(elements())};
  }
  template <class T>
  std::span<const T> values() const {
    check_dtype(dtype_of<T>);
    return {reinterpret_cast<const T*>(raw()), static_cast<std::size_t>(elements())};
  }
  /// The one element of a scalar (or of any tensor with one element) of any dtype, as double.
  double item() const;

  /// Every element converted; f64 -> f32 rounds, float -> integer truncates.
  Tensor converted(DType dtype) const;
  /// The same elements under another shape with as many elements.
  Tensor reshaped(Shape shape) const;
  /// Same type and the same bits.
  bool identical(const Tensor& other) const;

 private:
  struct Free {
    void operator()(std::byte* pointer) const;
  };
  void check_dtype(DType wanted) const;
  void check_elements(std::size_t count) const;

  TensorType type_;
  std::unique_ptr<std::byte[], Free> buffer_;
};

}  // namespace toroid
