// Constraints that many ops share; each failure is an Error that says what was expected.
#pragma once

#include <string_view>

#include "toroid/graph/op.h"

namespace toroid {

/// Exactly `count` operands.
void expect_operands(Types inputs, std::size_t count);
/// Between `low` and `high` operands.
void expect_operands(Types inputs, std::size_t low, std::size_t high);
void expect_rank(const TensorType& type, int rank, std::string_view what);
void expect_float(const TensorType& type, std::string_view what);
void expect_dtype(const TensorType& type, DType dtype, std::string_view what);
void expect_type(const TensorType& type, const TensorType& wanted, std::string_view what);

}  // namespace toroid
