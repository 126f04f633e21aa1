#include "toroid/backends/xla/stablehlo.h"

#include <gtest/gtest.h>

#include "toroid/graph/builder.h"
#include "toroid/ops/collectives.h"
#include "toroid/ops/conv2d.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/matmul.h"
#include "toroid/ops/max_pool.h"
#include "toroid/ops/relu.h"
#include "toroid/ops/sum.h"

namespace toroid {
namespace {

TEST(Stablehlo, AStepIsOneModule) {
  Builder builder(Mesh{.data = 4});
  const Value kernel =
      builder.input(InputKind::kState, "stem/kernel", {DType::f32, Shape{3, 3, 1, 2}});
  const Value fixed = builder.input(InputKind::kState, "fixed", {DType::f32, Shape{}});
  const Value images = builder.input(InputKind::kBatch, "weights", {DType::f32, Shape{2, 4, 4, 1}});
  const Value rate = builder.input(InputKind::kScalar, "learning_rate", {DType::f32, Shape{}});
  {
    const auto scope = builder.scope("stem");
    const Value y = relu(builder, conv2d(builder, images, kernel, {.padding = {1, 1, 1, 1}}));
    builder.output("pictures", y, true);
  }
  const Value total = all_reduce(builder, {rate, fixed}, 2)[0];
  builder.update("stem/kernel", subtract(builder, kernel, multiply(builder, kernel, total)));
  EXPECT_EQ(
      emit_stablehlo(builder.finish()),
      R"(module @step attributes {mhlo.num_replicas = 4 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(
      %stem.kernel: tensor<3x3x1x2xf32> {tf.aliasing_output = 0 : i32},  // state stem/kernel
      %fixed: tensor<f32>,  // state fixed
      %weights: tensor<2x4x4x1xf32>,  // batch weights
      %learning_rate: tensor<f32>  // scalar learning_rate
  ) -> (
      tensor<3x3x1x2xf32>,  // update of stem/kernel
      tensor<2x4x4x2xf32>  // output pictures
  ) {
    %stem.conv2d = stablehlo.convolution(%weights, %stem.kernel) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1], reverse = [false, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x4x4x1xf32>, tensor<3x3x1x2xf32>) -> tensor<2x4x4x2xf32>
    %stem.relu = stablehlo.constant dense<0.0> : tensor<2x4x4x2xf32>
    %stem.relu.1 = stablehlo.compare LT, %stem.conv2d, %stem.relu, FLOAT : (tensor<2x4x4x2xf32>, tensor<2x4x4x2xf32>) -> tensor<2x4x4x2xi1>
    %stem.relu.2 = stablehlo.select %stem.relu.1, %stem.relu, %stem.conv2d : tensor<2x4x4x2xi1>, tensor<2x4x4x2xf32>
    %all_reduce_start:2 = "stablehlo.all_reduce"(%learning_rate, %fixed) ({
      ^bb0(%lhs: tensor<f32>, %rhs: tensor<f32>):
        %result = stablehlo.add %lhs, %rhs : tensor<f32>
        stablehlo.return %result : tensor<f32>
    }) {replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>} : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    %multiply = stablehlo.broadcast_in_dim %all_reduce_start#0, dims = [] : (tensor<f32>) -> tensor<3x3x1x2xf32>
    %multiply.1 = stablehlo.multiply %stem.kernel, %multiply : tensor<3x3x1x2xf32>
    %subtract = stablehlo.subtract %stem.kernel, %multiply.1 : tensor<3x3x1x2xf32>
    return %subtract, %stem.relu.2 : tensor<3x3x1x2xf32>, tensor<2x4x4x2xf32>
  }
}
)");
}

TEST(Stablehlo, MaxPoolsGradientKeepsTheFirstOfEqualElements) {
  Builder builder;
  const Value x = builder.input(InputKind::kState, "x", {DType::f64, Shape{1, 3, 4, 2}});
  const Value dy = builder.input(InputKind::kState, "dy", {DType::f64, Shape{1, 2, 2, 2}});
  builder.output(
      "dx",
      builder.add(MaxPoolGradient{.window = {2, 3}, .stride = {2, 1}, .padding = {0, 1, 0, 0}},
                  {x, dy}));
  const std::string text = emit_stablehlo(builder.finish());
  EXPECT_NE(
      text.find(
          R"(    %max_pool_gradient.1 = "stablehlo.select_and_scatter"(%x, %dy, %max_pool_gradient) ({
      ^bb0(%lhs: tensor<f64>, %rhs: tensor<f64>):
        %result = stablehlo.compare GE, %lhs, %rhs, FLOAT : (tensor<f64>, tensor<f64>) -> tensor<i1>
        stablehlo.return %result : tensor<i1>
    }, {
      ^bb0(%lhs: tensor<f64>, %rhs: tensor<f64>):
        %result = stablehlo.add %lhs, %rhs : tensor<f64>
        stablehlo.return %result : tensor<f64>
    }) {padding = dense<[[0, 0], [0, 1], [0, 0], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 2, 3, 1>, window_strides = array<i64: 1, 2, 1, 1>} : (tensor<1x3x4x2xf64>, tensor<1x2x2x2xf64>, tensor<f64>) -> tensor<1x3x4x2xf64>
)"),
      std::string::npos)
      << text;
}

TEST(Stablehlo, OnlyF32ProductsAskForTheHighestPrecision) {
  for (const auto& [dtype, wanted] : {std::pair{DType::f32, "precision = [HIGHEST, HIGHEST]"},
                                      std::pair{DType::f64, "precision = [DEFAULT, DEFAULT]"}}) {
    Builder builder;
    const Value a = builder.input(InputKind::kState, "a", {dtype, Shape{2, 2}});
    builder.output("product", matmul(builder, a, a, {.transpose_b = true}));
    const std::string text = emit_stablehlo(builder.finish());
    EXPECT_NE(text.find("contracting_dims = [1] x [1], "), std::string::npos) << text;
    EXPECT_NE(text.find(wanted), std::string::npos) << text;
  }
}

TEST(Stablehlo, AGraphOfNothingIsAModule) {
  Builder builder;
  EXPECT_EQ(emit_stablehlo(builder.finish()),
            "module @step attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} "
            "{\n  func.func public @main() -> () {\n    return\n  }\n}\n");
}

}  // namespace
}  // namespace toroid
