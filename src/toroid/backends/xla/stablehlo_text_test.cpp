#include "toroid/backends/xla/stablehlo_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace toroid {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(StablehloText, TypesHaveMlirsNames) {
  EXPECT_EQ(mlir_type({DType::f32, Shape{2, 3}}), "tensor<2x3xf32>");
  EXPECT_EQ(mlir_type({DType::f64, Shape{}}), "tensor<f64>");
  EXPECT_EQ(mlir_type({DType::bf16, Shape{1}}), "tensor<1xbf16>");
  EXPECT_EQ(mlir_type({DType::i32, Shape{0}}), "tensor<0xi32>");
  EXPECT_EQ(mlir_type({DType::u32, Shape{}}), "tensor<ui32>");
  EXPECT_EQ(mlir_type({DType::u8, Shape{4}}), "tensor<4xui8>");
  EXPECT_EQ(mlir_type({DType::boolean, Shape{}}), "tensor<i1>");
}

TEST(StablehloText, FloatLiteralsHaveAPoint) {
  EXPECT_EQ(mlir_literal(1, DType::f32), "1.0");
  EXPECT_EQ(mlir_literal(-0.25, DType::f64), "-0.25");
  EXPECT_EQ(mlir_literal(1e-5, DType::f32), "1.0e-05");
  EXPECT_EQ(mlir_literal(1e300, DType::f64), "1.0e+300");
  EXPECT_EQ(mlir_literal(-0.0, DType::f32), "-0.0");
}

TEST(StablehloText, FloatLiteralsAreThoseOfTheStoredNumber) {
  EXPECT_EQ(mlir_literal(0.1, DType::f32), "0.1");
  EXPECT_EQ(mlir_literal(1.0 / 3, DType::f32), "0.33333334");
  EXPECT_EQ(mlir_literal(1.0 / 3, DType::f64), "0.3333333333333333");
  EXPECT_EQ(mlir_literal(1.0 / 3, DType::bf16), "0.33398438");
  for (const double value : {0.1, 1.0 / 3, 1e-38, 3.4028234e38, 1e-45, 16777217.0, 2.0 / 255}) {
    const std::string text = mlir_literal(value, DType::f32);
    EXPECT_EQ(static_cast<float>(std::strtod(text.c_str(), nullptr)), static_cast<float>(value));
  }
}

TEST(StablehloText, WhatHasNoDecimalIsWrittenAsBits) {
  EXPECT_EQ(mlir_literal(-kInfinity, DType::f32), "0xFF800000");
  EXPECT_EQ(mlir_literal(kInfinity, DType::f64), "0x7FF0000000000000");
  EXPECT_EQ(mlir_literal(-kInfinity, DType::bf16), "0xFF80");
  EXPECT_EQ(mlir_literal(std::nan(""), DType::f32), "0x7FC00000");
  EXPECT_EQ(mlir_literal(1e39, DType::f32), "0x7F800000");
}

TEST(StablehloText, IntegersAndBoolsAreThemselves) {
  EXPECT_EQ(mlir_literal(-7, DType::i32), "-7");
  EXPECT_EQ(mlir_literal(4294967295.0, DType::u32), "4294967295");
  EXPECT_EQ(mlir_literal(255, DType::u8), "255");
  EXPECT_EQ(mlir_literal(1, DType::boolean), "true");
  EXPECT_EQ(mlir_literal(0, DType::boolean), "false");
}

TEST(StablehloText, NamesAreLegalAndDifferent) {
  StablehloText text;
  EXPECT_EQ(text.name_for("stage1/block1/conv1/kernel"), "%stage1.block1.conv1.kernel");
  EXPECT_EQ(text.name_for("stage1.block1/conv1/kernel"), "%stage1.block1.conv1.kernel_");
  EXPECT_EQ(text.name_for("3x3 mixed"), "%_3x3.mixed");
  EXPECT_EQ(text.name_for("lhs"), "%lhs_");
  EXPECT_EQ(text.name_for(""), "%_");
}

TEST(StablehloText, ANodesValuesAreNumberedAfterTheFirst) {
  StablehloText text;
  text.begin("loss/scale");
  const TensorType type{DType::f32, Shape{2}};
  const Ssa two = text.constant(2, type);
  text.multiply(two, two);
  EXPECT_EQ(text.text(),
            "    %loss.scale = stablehlo.constant dense<2.0> : tensor<2xf32>\n"
            "    %loss.scale.1 = stablehlo.multiply %loss.scale, %loss.scale : tensor<2xf32>\n");
}

TEST(StablehloText, NothingIsWrittenWhereNothingChanges) {
  StablehloText text;
  const Ssa x{"%x", {DType::f32, Shape{2, 1}}};
  EXPECT_EQ(text.convert(x, DType::f32).name, "%x");
  EXPECT_EQ(text.reshape(x, Shape{2, 1}).name, "%x");
  EXPECT_EQ(text.sum(x, {}).name, "%x");
  EXPECT_EQ(text.text(), "");
}

}  // namespace
}  // namespace toroid
