#include "toroid/ops/checks.h"

#include "toroid/base/error.h"

namespace toroid {

void expect_operands(Types inputs, std::size_t count) {
  if (inputs.size() != count) fail("takes {} operands, got {}", count, inputs.size());
}

void expect_operands(Types inputs, std::size_t low, std::size_t high) {
  if (inputs.size() < low || inputs.size() > high) {
    fail("takes {} to {} operands, got {}", low, high, inputs.size());
  }
}

void expect_rank(const TensorType& type, int rank, std::string_view what) {
  if (type.shape.rank() != rank) fail("{} must have rank {}, is {}", what, rank, type.str());
}

void expect_float(const TensorType& type, std::string_view what) {
  if (!is_float(type.dtype)) fail("{} must have a float type, is {}", what, type.str());
}

void expect_dtype(const TensorType& type, DType dtype, std::string_view what) {
  if (type.dtype != dtype) fail("{} must be {}, is {}", what, name_of(dtype), type.str());
}

void expect_type(const TensorType& type, const TensorType& wanted, std::string_view what) {
  if (type != wanted) fail("{} must be {}, is {}", what, wanted.str(), type.str());
}

}  // namespace toroid
