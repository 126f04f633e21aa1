#include "toroid/backends/cpu/lay_out.h"

#include <gtest/gtest.h>

#include "toroid/backends/cpu/relayout.h"
#include "toroid/ops/batch_norm.h"
#include "toroid/ops/concat.h"
#include "toroid/ops/conv2d.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/max_pool.h"
#include "toroid/ops/normalize_images.h"
#include "toroid/ops/relu.h"
#include "toroid/ops/sum.h"

namespace toroid::cpu {
namespace {

// Convolutions that want planar pictures of few channels and blocks of 16 else.
LayoutRules rules() {
  LayoutRules result;
  result.convolution = [](const Node&, const TensorType& x, const TensorType&, const TensorType&) {
    return ConvolutionLayouts{x.shape.back() % 16 == 0 ? Layout::kBlocked16 : Layout::kPlanar,
                              Layout::kBlocked16, true};
  };
  result.kernel_block = 16;
  return result;
}

Value activation(Builder& b, const std::string& name, std::int64_t channels) {
  return b.input(InputKind::kBatch, name, {DType::f32, Shape{2, 8, 8, channels}});
}
Value variable(Builder& b, const std::string& name, Shape shape) {
  return b.input(InputKind::kState, name, {DType::f32, std::move(shape)});
}
Value convolved(Builder& b, Value x, const std::string& name, std::int64_t filters) {
  const Value kernel = variable(b, name, {3, 3, b.type(x).shape.back(), filters});
  return conv2d(b, x, kernel, {.padding = {1, 1, 1, 1}});
}

std::vector<std::string> relayouts(const LaidOutGraph& laid_out) {
  std::vector<std::string> paths;
  for (const Node& node : laid_out.graph.nodes) {
    if (node.op.as<Relayout>() != nullptr) paths.push_back(node.path);
  }
  return paths;
}
using Paths = std::vector<std::string>;

TEST(LayOut, NothingMovesFromConvolutionToConvolution) {
  Builder b;
  const Value images = b.input(InputKind::kBatch, "images", {DType::u8, Shape{2, 8, 8, 3}});
  Value x = normalize_images(b, images, {.mean = {0, 0, 0}, .scale = {1, 1, 1}});
  x = convolved(b, x, "first", 16);
  const Value y = relu(b, max_pool(b, x, {.window = {1, 1}, .stride = {1, 1}}));
  x = add(b, relu(b, convolved(b, y, "second", 16)), y);
  b.output("features", global_average_pool(b, convolved(b, x, "third", 32)));
  EXPECT_EQ(relayouts(lay_out(b.finish(), rules())), Paths{});
}

TEST(LayOut, WhatIsReadRowMajorMovesOnceForAllItsReaders) {
  Builder b;
  const Value y = convolved(b, activation(b, "images", 16), "kernel", 16);
  b.output("flat", reshape(b, y, {2, 8 * 8 * 16}));
  b.output("flatter", reshape(b, y, {2 * 8 * 8 * 16}));
  b.output("y", y);
  EXPECT_EQ(relayouts(lay_out(b.finish(), rules())),
            (Paths{"images/blocked16", "conv2d/row-major"}));
}

TEST(LayOut, AKernelAndItsMomentumStayInBlocksThroughTheUpdate) {
  Builder b;
  const Value x = activation(b, "images", 16), dy = activation(b, "dy", 32);
  const Value kernel = variable(b, "kernel", {3, 3, 16, 32});
  const Value momentum = variable(b, "momentum", {3, 3, 16, 32});
  const Value gradient =
      b.add(Conv2dKernelGradient{.padding = {1, 1, 1, 1}, .kernel_size = {3, 3}}, {x, dy});
  const Value moved = add(b, multiply(b, momentum, 0.9), gradient);
  b.update("momentum", moved);
  b.update("kernel", subtract(b, kernel, moved));
  const LaidOutGraph laid_out = lay_out(b.finish(), rules());
  EXPECT_EQ(relayouts(laid_out), (Paths{"images/blocked16", "dy/blocked16"}));
  for (const Binding& update : laid_out.graph.updates) {
    EXPECT_EQ(laid_out.of(update.value), Layout::kKernel16) << update.name;
  }
}

TEST(LayOut, ChannelsThatFillNoBlockAreJoinedRowMajor) {
  Builder b;
  const Value x = convolved(b, activation(b, "images", 16), "kernel", 16);
  const Value other = activation(b, "other", 8);
  b.output("joined", concat(b, {x, other}, 3));
  b.output("blocks", concat(b, {x, x}, 3));
  EXPECT_EQ(relayouts(lay_out(b.finish(), rules())),
            (Paths{"images/blocked16", "conv2d/row-major", "concat_2/row-major"}));
}

TEST(LayOut, LayoutsFitWholeBlocksAlone) {
  EXPECT_TRUE(fits({DType::f32, Shape{1, 2, 3, 32}}, Layout::kBlocked16));
  EXPECT_FALSE(fits({DType::f32, Shape{1, 2, 3, 40}}, Layout::kBlocked16));
  EXPECT_TRUE(fits({DType::f32, Shape{1, 2, 3, 40}}, Layout::kBlocked8));
  EXPECT_FALSE(fits({DType::f32, Shape{2, 32}}, Layout::kBlocked16));
  EXPECT_EQ(kernel_layout({DType::f32, Shape{3, 3, 32, 64}}, 16), Layout::kKernel16);
  EXPECT_EQ(kernel_layout({DType::f32, Shape{7, 7, 3, 64}}, 16), Layout::kRowMajor);
  EXPECT_EQ(kernel_layout({DType::f32, Shape{32, 64}}, 16), Layout::kRowMajor);
}

}  // namespace
}  // namespace toroid::cpu
