#include "toroid/backends/xla/stablehlo_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace toroid {
namespace {

std::string_view mlir_element(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "f64";
    case DType::f32:
      return "f32";
    case DType::bf16:
      return "bf16";
    case DType::i32:
      return "i32";
    case DType::u32:
      return "ui32";
    case DType::u8:
      return "ui8";
    case DType::boolean:
      return "i1";
  }
  return "?";
}

// MLIR's float literals have a point: "1e-05" is none, "1.0e-05" is.
std::string with_point(std::string text) {
  if (text.find('.') != std::string::npos) return text;
  const std::size_t exponent = std::min(text.find('e'), text.size());
  return text.insert(exponent, ".0");
}

std::string hex_literal(double value, DType dtype) {
  if (dtype == DType::f64) return fmt::format("0x{:016X}", std::bit_cast<std::uint64_t>(value));
  const auto narrow = static_cast<float>(value);
  if (dtype == DType::bf16) return fmt::format("0x{:04X}", BFloat16(narrow).bits);
  return fmt::format("0x{:08X}", std::bit_cast<std::uint32_t>(narrow));
}

std::string float_literal(double value, DType dtype) {
  const double stored = Tensor::scalar(value).converted(dtype).item();
  if (!std::isfinite(stored)) return hex_literal(value, dtype);
  if (dtype == DType::f64) return with_point(fmt::format("{}", stored));
  // The shortest decimal of the f32 is exact unless reading it by way of f64 rounds twice.
  const std::string text = with_point(fmt::format("{}", static_cast<float>(stored)));
  const double read = std::strtod(text.c_str(), nullptr);
  const bool exact = Tensor::scalar(read).converted(dtype).item() == stored;
  return exact ? text : with_point(fmt::format("{}", stored));
}

Shape without(const Shape& shape, const Dims& axes) {
  Dims dims;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) dims.push_back(shape[axis]);
  }
  return Shape(std::move(dims));
}

std::string_view comparison_type(DType dtype) {
  if (is_float(dtype)) return "FLOAT";
  return dtype == DType::i32 ? "SIGNED" : "UNSIGNED";
}

std::string window_attributes(const SlidingWindow& window) {
  std::vector<std::string> padding;
  for (std::size_t i = 0; i < window.low.size(); ++i) {
    padding.push_back(fmt::format("[{}, {}]", window.low[i], window.high[i]));
  }
  const std::string dilation =
      window.dilation.empty()
          ? ""
          : fmt::format("base_dilations = array<i64: {}>, ", fmt::join(window.dilation, ", "));
  return fmt::format(
      "{{{}padding = dense<[{}]> : tensor<{}x2xi64>, window_dimensions = array<i64: {}>, "
      "window_strides = array<i64: {}>}}",
      dilation, fmt::join(padding, ", "), padding.size(), fmt::join(window.size, ", "),
      fmt::join(window.stride, ", "));
}

std::string region_of(std::string_view line, DType dtype, DType result) {
  const std::string scalar = mlir_type({dtype, Shape{}});
  return fmt::format(
      "{{\n"
      "      ^bb0(%lhs: {0}, %rhs: {0}):\n"
      "        %result = {1}\n"
      "        stablehlo.return %result : {2}\n"
      "    }}",
      scalar, line, mlir_type({result, Shape{}}));
}

}  // namespace

std::string mlir_type(const TensorType& type) {
  std::string text = "tensor<";
  for (const std::int64_t dim : type.shape) text += fmt::format("{}x", dim);
  return text + std::string(mlir_element(type.dtype)) + ">";
}

std::string mlir_literal(double value, DType dtype) {
  if (is_float(dtype)) return float_literal(value, dtype);
  if (dtype == DType::boolean) return value != 0 ? "true" : "false";
  return fmt::format("{}", static_cast<std::int64_t>(value));
}

std::string mlir_list(std::span<const std::int64_t> values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string_view product_precision(DType dtype) {
  return dtype == DType::f32 ? "HIGHEST" : "DEFAULT";
}

std::string StablehloText::name_for(std::string_view path) {
  std::string name(path);
  for (char& c : name) {
    const bool legal =
        std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$' || c == '-';
    if (!legal) c = '.';
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name.insert(0, "_");
  while (!names_.insert(name).second) name += '_';
  return "%" + name;
}

void StablehloText::begin(std::string_view path) {
  base_ = path;
  count_ = 0;
}

std::string StablehloText::next_name() {
  const int number = count_++;
  return name_for(number == 0 ? base_ : fmt::format("{}.{}", base_, number));
}

Ssa StablehloText::line(const TensorType& result, std::string_view operation) {
  Ssa value{next_name(), result};
  text_ += fmt::format("    {} = {}\n", value.name, operation);
  return value;
}

std::vector<Ssa> StablehloText::lines(const std::vector<TensorType>& results,
                                      std::string_view operation) {
  if (results.size() == 1) return {line(results[0], operation)};
  const std::string name = next_name();
  text_ += fmt::format("    {}:{} = {}\n", name, results.size(), operation);
  std::vector<Ssa> values;
  for (std::size_t i = 0; i < results.size(); ++i) {
    values.push_back({fmt::format("{}#{}", name, i), results[i]});
  }
  return values;
}

Ssa StablehloText::constant(double value, const TensorType& type) {
  return line(type, fmt::format("stablehlo.constant dense<{}> : {}",
                                mlir_literal(value, type.dtype), mlir_type(type)));
}

Ssa StablehloText::constant(std::span<const double> values, DType dtype) {
  std::vector<std::string> literals;
  for (const double value : values) literals.push_back(mlir_literal(value, dtype));
  const TensorType type{dtype, Shape{static_cast<std::int64_t>(values.size())}};
  return line(type, fmt::format("stablehlo.constant dense<[{}]> : {}", fmt::join(literals, ", "),
                                mlir_type(type)));
}

Ssa StablehloText::iota(const TensorType& type, std::int64_t axis) {
  return line(type, fmt::format("stablehlo.iota dim = {} : {}", axis, mlir_type(type)));
}

Ssa StablehloText::elementwise(std::string_view operation, const std::vector<Ssa>& operands) {
  std::vector<std::string> names;
  for (const Ssa& operand : operands) names.push_back(operand.name);
  const TensorType& type = operands[0].type;
  return line(type, fmt::format("stablehlo.{} {} : {}", operation, fmt::join(names, ", "),
                                mlir_type(type)));
}

Ssa StablehloText::compare(std::string_view direction, const Ssa& a, const Ssa& b) {
  const TensorType result{DType::boolean, a.type.shape};
  return line(result, fmt::format("stablehlo.compare {}, {}, {}, {} : ({}, {}) -> {}", direction,
                                  a.name, b.name, comparison_type(a.type.dtype), mlir_type(a.type),
                                  mlir_type(b.type), mlir_type(result)));
}

Ssa StablehloText::select(const Ssa& condition, const Ssa& a, const Ssa& b) {
  return line(a.type, fmt::format("stablehlo.select {}, {}, {} : {}, {}", condition.name, a.name,
                                  b.name, mlir_type(condition.type), mlir_type(a.type)));
}

Ssa StablehloText::relu(const Ssa& x) {
  const Ssa zero = constant(0, x.type);
  return select(compare("LT", x, zero), zero, x);
}

Ssa StablehloText::is_finite(const Ssa& x) {
  const TensorType result{DType::boolean, x.type.shape};
  return line(result, fmt::format("stablehlo.is_finite {} : ({}) -> {}", x.name, mlir_type(x.type),
                                  mlir_type(result)));
}

Ssa StablehloText::transpose(const Ssa& x, const Dims& axes) {
  Dims dims;
  for (const std::int64_t axis : axes) dims.push_back(x.type.shape[static_cast<int>(axis)]);
  const TensorType result{x.type.dtype, Shape(std::move(dims))};
  return line(result, fmt::format("stablehlo.transpose {}, dims = {} : ({}) -> {}", x.name,
                                  mlir_list(axes), mlir_type(x.type), mlir_type(result)));
}

Ssa StablehloText::concatenate(const std::vector<Ssa>& parts, std::int64_t axis) {
  TensorType result = parts[0].type;
  std::int64_t& size = result.shape[static_cast<int>(axis)];
  size = 0;
  std::vector<std::string> names, types;
  for (const Ssa& part : parts) {
    size += part.type.shape[static_cast<int>(axis)];
    names.push_back(part.name);
    types.push_back(mlir_type(part.type));
  }
  return line(result,
              fmt::format("stablehlo.concatenate {}, dim = {} : ({}) -> {}", fmt::join(names, ", "),
                          axis, fmt::join(types, ", "), mlir_type(result)));
}

Ssa StablehloText::slice(const Ssa& x, std::int64_t axis, std::int64_t start, std::int64_t limit) {
  TensorType result = x.type;
  result.shape[static_cast<int>(axis)] = limit - start;
  std::vector<std::string> ranges;
  for (int i = 0; i < x.type.shape.rank(); ++i) {
    ranges.push_back(i == axis ? fmt::format("{}:{}", start, limit)
                               : fmt::format("0:{}", x.type.shape[i]));
  }
  return line(result, fmt::format("stablehlo.slice {} [{}] : ({}) -> {}", x.name,
                                  fmt::join(ranges, ", "), mlir_type(x.type), mlir_type(result)));
}

Ssa StablehloText::convert(const Ssa& x, DType dtype) {
  if (x.type.dtype == dtype) return x;
  const TensorType result{dtype, x.type.shape};
  return line(result, fmt::format("stablehlo.convert {} : ({}) -> {}", x.name, mlir_type(x.type),
                                  mlir_type(result)));
}

Ssa StablehloText::reshape(const Ssa& x, const Shape& shape) {
  if (x.type.shape == shape) return x;
  const TensorType result{x.type.dtype, shape};
  return line(result, fmt::format("stablehlo.reshape {} : ({}) -> {}", x.name, mlir_type(x.type),
                                  mlir_type(result)));
}

Ssa StablehloText::broadcast(const Ssa& x, const Shape& shape, const Dims& axes) {
  if (x.type.shape == shape) return x;
  const TensorType result{x.type.dtype, shape};
  return line(result, fmt::format("stablehlo.broadcast_in_dim {}, dims = {} : ({}) -> {}", x.name,
                                  mlir_list(axes), mlir_type(x.type), mlir_type(result)));
}

Ssa StablehloText::reduce(const Ssa& x, const Dims& axes, std::string_view operation,
                          double initial) {
  if (axes.empty()) return x;
  const Ssa start = constant(initial, {x.type.dtype, Shape{}});
  const TensorType result{x.type.dtype, without(x.type.shape, axes)};
  return line(result, fmt::format("stablehlo.reduce({} init: {}) applies stablehlo.{} across "
                                  "dimensions = {} : ({}, {}) -> {}",
                                  x.name, start.name, operation, mlir_list(axes), mlir_type(x.type),
                                  mlir_type(start.type), mlir_type(result)));
}

std::string StablehloText::region(std::string_view operation, DType dtype) {
  const std::string line =
      fmt::format("stablehlo.{} %lhs, %rhs : {}", operation, mlir_type({dtype, Shape{}}));
  return region_of(line, dtype, dtype);
}

Ssa StablehloText::max_window(const Ssa& x, const SlidingWindow& window, const TensorType& result) {
  return reduce_window(x, "maximum", -std::numeric_limits<double>::infinity(), window, result);
}

Ssa StablehloText::sum_window(const Ssa& x, const SlidingWindow& window, const TensorType& result) {
  return reduce_window(x, "add", 0, window, result);
}

Ssa StablehloText::reduce_window(const Ssa& x, std::string_view operation, double initial,
                                 const SlidingWindow& window, const TensorType& result) {
  const TensorType scalar{x.type.dtype, Shape{}};
  const Ssa start = constant(initial, scalar);
  return line(result,
              fmt::format("\"stablehlo.reduce_window\"({}, {}) ({}) {} : ({}, {}) -> {}", x.name,
                          start.name, region(operation, x.type.dtype), window_attributes(window),
                          mlir_type(x.type), mlir_type(scalar), mlir_type(result)));
}

Ssa StablehloText::scatter_to_max(const Ssa& x, const Ssa& source, const SlidingWindow& window) {
  const TensorType scalar{x.type.dtype, Shape{}};
  const Ssa start = constant(0, scalar);
  // The element found first is the left one, and stays when it is as large as the right one.
  const std::string keeps = fmt::format(
      "stablehlo.compare GE, %lhs, %rhs, FLOAT : ({0}, {0}) -> tensor<i1>", mlir_type(scalar));
  return line(
      x.type,
      fmt::format("\"stablehlo.select_and_scatter\"({}, {}, {}) ({}, {}) {} : ({}, {}, {})"
                  " -> {}",
                  x.name, source.name, start.name, region_of(keeps, x.type.dtype, DType::boolean),
                  region("add", x.type.dtype), window_attributes(window), mlir_type(x.type),
                  mlir_type(source.type), mlir_type(scalar), mlir_type(x.type)));
}

}  // namespace toroid
