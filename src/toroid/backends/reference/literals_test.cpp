// The oracle itself against numbers worked out by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "toroid/backends/case_runner.h"
#include "toroid/backends/reference/reference.h"
#include "toroid/base/testing.h"
#include "toroid/comm/self.h"
#include "toroid/ops/avg_pool.h"
#include "toroid/ops/batch_norm.h"
#include "toroid/ops/concat.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/conv2d.h"
#include "toroid/ops/dropout.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/local_response_norm.h"
#include "toroid/ops/matmul.h"
#include "toroid/ops/max_pool.h"
#include "toroid/ops/normalize_images.h"
#include "toroid/ops/relu.h"
#include "toroid/ops/softmax_cross_entropy.h"
#include "toroid/ops/sum.h"

namespace toroid {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Tensor> run(const Op& op, const std::vector<Tensor>& operands) {
  SelfCommunicator communicator;
  const auto backend = make_reference_backend(communicator);
  OpCase op_case{.op = std::string(op.name()),
                 .build = [&](Builder& builder, const std::vector<Value>& inputs) {
                   return builder.add_all(op, inputs);
                 }};
  for (const Tensor& operand : operands) op_case.operands.push_back({operand.type()});
  return run_case(*backend, op_case, operands);
}

Tensor f64(Shape shape, std::initializer_list<double> values) {
  return Tensor::of<double>(std::move(shape), values);
}

void expect_values(const Tensor& tensor, const std::vector<double>& wanted) {
  const auto got = tensor.values<double>();
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (std::isnan(wanted[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << i;
    } else {
      EXPECT_DOUBLE_EQ(got[i], wanted[i]) << i;
    }
  }
}

TEST(ReferenceLiterals, Conv2dIsCrossCorrelation) {
  const Tensor x = f64({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor kernel = f64({3, 3, 1, 1}, {1, 0, 0, 0, 0, 10, 0, 100, 0});
  // y[i,j] = x[i-1,j-1] + 10 x[i,j+1] + 100 x[i+1,j]
  expect_values(run(Conv2d{.padding = {1, 1, 1, 1}}, {x, kernel})[0],
                {420, 530, 600, 750, 861, 902, 80, 94, 5});
  // One row above only, stride 2: the windows' rows start at -1, their columns at 0.
  expect_values(run(Conv2d{.stride = {2, 2}, .padding = {1, 0, 0, 0}}, {x, kernel})[0], {530});
}

TEST(ReferenceLiterals, Conv2dSumsOverInputChannelsAndKeepsFiltersLast) {
  const Tensor x = f64({1, 1, 2, 2}, {1, 2, 3, 4});
  const Tensor kernel = f64({1, 1, 2, 3}, {1, 10, 100, 2, 20, 200});
  expect_values(run(Conv2d{}, {x, kernel})[0], {5, 50, 500, 11, 110, 1100});
}

TEST(ReferenceLiterals, Conv2dGradients) {
  const Tensor x = f64({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6});
  const Tensor kernel = f64({2, 2, 1, 1}, {1, 10, 100, 1000});
  const Tensor dy = f64({1, 1, 2, 1}, {1, 2});
  expect_values(run(Conv2dInputGradient{.input_size = {2, 3}}, {dy, kernel})[0],
                {1, 12, 20, 100, 1200, 2000});
  expect_values(run(Conv2dKernelGradient{.kernel_size = {2, 2}}, {x, dy})[0], {5, 8, 14, 17});
}

// Channels 0 and 1 meet filter 0, channels 2 and 3 filter 1.
TEST(ReferenceLiterals, Conv2dOfGroupsAndItsGradients) {
  const Tensor x = f64({1, 1, 1, 4}, {1, 2, 3, 4}), dy = f64({1, 1, 1, 2}, {5, 7});
  const Tensor kernel = f64({1, 1, 2, 2}, {1, 10, 100, 1000});
  expect_values(run(Conv2d{.groups = 2}, {x, kernel})[0], {201, 4030});
  expect_values(run(Conv2dInputGradient{.input_size = {1, 1}, .groups = 2}, {dy, kernel})[0],
                {5, 500, 70, 7000});
  expect_values(run(Conv2dKernelGradient{.kernel_size = {1, 1}, .groups = 2}, {x, dy})[0],
                {5, 21, 10, 28});
}

TEST(ReferenceLiterals, MatmulAndItsTransposes) {
  const Tensor a = f64({2, 3}, {1, 2, 3, 4, 5, 6}), b = f64({2, 2}, {1, 10, 100, 1000});
  expect_values(run(Matmul{.transpose_a = true}, {a, b})[0], {401, 4010, 502, 5020, 603, 6030});
  expect_values(run(Matmul{.transpose_a = true, .transpose_b = true}, {a, b})[0],
                {41, 4100, 52, 5200, 63, 6300});
  expect_values(run(AddBias{}, {b, f64({2}, {5, 7})})[0], {6, 17, 105, 1007});
}

TEST(ReferenceLiterals, MaxPoolSendsTheGradientToTheFirstOfEqualElements) {
  const Tensor x = f64({1, 2, 4, 1}, {1, 3, 2, 2, 3, 0, 2, 2});
  const Tensor dy = f64({1, 1, 2, 1}, {10, 20});
  expect_values(run(MaxPool{}, {x})[0], {3, 2});
  expect_values(run(MaxPoolGradient{}, {x, dy})[0], {0, 10, 20, 0, 0, 0, 0, 0});
}

TEST(ReferenceLiterals, MaxPoolNeverPicksPaddingAndAddsUpOverlappingWindows) {
  const MaxPool pool{.window = {1, 2}, .stride = {1, 1}, .padding = {0, 0, 1, 1}};
  const Tensor x = f64({1, 1, 2, 1}, {-3, -2});
  expect_values(run(pool, {x})[0], {-3, -2, -2});
  const Tensor dy = f64({1, 1, 3, 1}, {1, 10, 100});
  expect_values(
      run(MaxPoolGradient{.window = pool.window, .stride = pool.stride, .padding = pool.padding},
          {x, dy})[0],
      {1, 110});
}

// Windows of one to two pixels of the picture and padding on the left.
TEST(ReferenceLiterals, AveragePoolingCountsThePaddingOnlyWhereAsked) {
  const AvgPool pool{.window = {1, 2}, .stride = {1, 2}, .padding = {0, 0, 1, 0}};
  const Tensor x = f64({1, 1, 3, 1}, {6, 8, 10}), dy = f64({1, 1, 2, 1}, {1, 10});
  expect_values(run(pool, {x})[0], {6, 9});
  AvgPoolGradient gradient{
      .window = pool.window, .stride = pool.stride, .padding = pool.padding, .input_size = {1, 3}};
  expect_values(run(gradient, {dy})[0], {1, 5, 5});
  AvgPool counting = pool;
  gradient.count_include_padding = counting.count_include_padding = true;
  expect_values(run(counting, {x})[0], {3, 9});
  expect_values(run(gradient, {dy})[0], {0.5, 5, 5});
}

TEST(ReferenceLiterals, AveragePoolingWithOverlap) {
  const Tensor x = f64({1, 2, 3, 1}, {1, 2, 3, 4, 5, 6});
  expect_values(run(AvgPool{.stride = {1, 1}}, {x})[0], {3, 4});
  const Tensor dy = f64({1, 1, 2, 1}, {4, 8});
  expect_values(run(AvgPoolGradient{.stride = {1, 1}, .input_size = {2, 3}}, {dy})[0],
                {1, 3, 2, 1, 3, 2});
}

TEST(ReferenceLiterals, ConcatAndSliceAlongEachAxis) {
  const Tensor a = f64({2, 1}, {1, 2}), b = f64({2, 2}, {3, 4, 5, 6});
  expect_values(run(Concat{.axis = 1}, {a, b})[0], {1, 3, 4, 2, 5, 6});
  expect_values(run(Concat{.axis = 0}, {b, b})[0], {3, 4, 5, 6, 3, 4, 5, 6});
  expect_values(run(Slice{.axis = 1, .start = 1, .limit = 2}, {b})[0], {4, 6});
  expect_values(run(Slice{.axis = 0, .start = 1, .limit = 2}, {b})[0], {5, 6});
}

// The published words of Philox for zeros are 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
TEST(ReferenceLiterals, DropoutDropsWhereThePublishedWordsAreBelowTheRate) {
  const Tensor x = f64({1, 4}, {1, 2, 3, kNaN});
  const Tensor ids = Tensor::of<std::uint32_t>({1}, {0}), seed = Tensor::scalar(0U),
               step = Tensor::scalar(0);
  expect_values(run(Dropout{.rate = 0.5}, {x, ids, seed, step})[0], {0, 4, 6, kNaN});
  expect_values(run(Dropout{.rate = 0.75}, {x, ids, seed, step})[0], {0, 8, 0, 0});
  expect_values(run(Dropout{.rate = 0}, {x, ids, seed, step})[0], {1, 2, 3, kNaN});
}

TEST(ReferenceLiterals, LocalResponseNormDoesNotDivideAlphaByTheSize) {
  const Tensor x = f64({1, 1, 1, 3}, {1, 2, 0}), dy = f64({1, 1, 1, 3}, {1, 0, 1});
  // s = 1 + 3 (1 + 4), 1 + 3 (1 + 4 + 0), 1 + 3 (4 + 0)
  const LocalResponseNorm norm{.size = 3, .k = 1, .alpha = 3, .beta = 0.5};
  expect_values(run(norm, {x})[0], {0.25, 0.5, 0});
  // dx0 = 1/4 - 3 * 1 / 64, dx1 = -3 * 2 / 64, dx2 = 1 / sqrt(13)
  expect_values(
      run(LocalResponseNormGradient{.size = 3, .k = 1, .alpha = 3, .beta = 0.5}, {x, dy})[0],
      {0.25 - 3.0 / 64, -6.0 / 64, 1 / std::sqrt(13.0)});
}

TEST(ReferenceLiterals, InTopKPutsTheLowerIndexFirstAmongEqualLogits) {
  const Tensor logits = f64({4, 3}, {5, 5, 1, 5, 5, 1, kNaN, 1, 2, 1, kNaN, 2});
  const Tensor labels = Tensor::of<std::int32_t>({4}, {0, 1, 0, 2});
  expect_values(run(InTopK{.k = 1}, {logits, labels})[0], {1, 0, 0, 1});
  expect_values(run(InTopK{.k = 2}, {logits, labels})[0], {1, 1, 0, 1});
  expect_values(run(InTopK{.k = 3}, {logits, labels})[0], {1, 1, 1, 1});
}

TEST(ReferenceLiterals, SoftmaxCrossEntropyWithAndWithoutSmoothing) {
  // softmax = 1/4, 3/4
  const Tensor logits = f64({1, 2}, {0, std::log(3)});
  const Tensor labels = Tensor::of<std::int32_t>({1}, {1});
  expect_values(run(SoftmaxCrossEntropy{}, {logits, labels})[0], {std::log(4.0 / 3)});
  // t = 0.8 (0, 1) + 0.2 / 2 = 0.1, 0.9
  expect_values(run(SoftmaxCrossEntropy{.label_smoothing = 0.2}, {logits, labels})[0],
                {0.1 * std::log(4.0) + 0.9 * std::log(4.0 / 3)});
  const Tensor dlogits =
      run(SoftmaxCrossEntropyGradient{.label_smoothing = 0.2}, {logits, labels, f64({1}, {2})})[0];
  EXPECT_NEAR(dlogits.values<double>()[0], 2 * (0.25 - 0.1), 1e-15);
  EXPECT_NEAR(dlogits.values<double>()[1], 2 * (0.75 - 0.9), 1e-15);
}

TEST(ReferenceLiterals, SoftmaxCrossEntropySurvivesLargeLogits) {
  const Tensor labels = Tensor::of<std::int32_t>({1}, {0});
  expect_values(run(SoftmaxCrossEntropy{}, {f64({1, 2}, {1e4, -1e4}), labels})[0], {0});
  expect_values(run(SoftmaxCrossEntropy{}, {f64({1, 2}, {-1e4, 1e4}), labels})[0], {2e4});
}

TEST(ReferenceLiterals, ALabelOutsideTheClassesIsAnErrorThatNamesTheExample) {
  const Tensor labels = Tensor::of<std::int32_t>({2}, {0, 3});
  EXPECT_ERROR(run(SoftmaxCrossEntropy{}, {f64({2, 3}, {1, 2, 3, 4, 5, 6}), labels}),
               "reference: softmax_cross_entropy: the label of example 1 must be in 0..2, is 3");
}

TEST(ReferenceLiterals, BatchNormStatistics) {
  // Two groups of two examples, two channels.
  const Tensor x = f64({4, 2}, {1, 10, 3, 20, 5, 0, 9, 0});
  auto result = run(BatchNormStatistics{.groups = 2}, {x});
  expect_values(result[0], {2, 2, 2, 2});
  expect_values(result[1], {2, 15, 7, 0});
  expect_values(result[2], {2, 50, 8, 0});
  // Weights count examples; a group of padding has count and mean 0.
  result = run(BatchNormStatistics{.groups = 2}, {x, f64({4}, {0, 1, 0, 0})});
  expect_values(result[0], {1, 1, 0, 0});
  expect_values(result[1], {3, 20, 0, 0});
  expect_values(result[2], {0, 0, 0, 0});
}

TEST(ReferenceLiterals, BatchNormStatisticsAreCentred) {
  const Tensor x = f64({4, 1}, {1e9 - 1, 1e9 + 1, 1e9 - 1, 1e9 + 1});
  expect_values(run(BatchNormStatistics{}, {x})[2], {4});
}

TEST(ReferenceLiterals, BatchNormApplyAndItsGradient) {
  const Tensor x = f64({2, 1}, {1, 5}), mean = f64({1, 1}, {3}), variance = f64({1, 1}, {3});
  const Tensor gamma = f64({1}, {10}), beta = f64({1}, {1}), residual = f64({2, 1}, {4, 4});
  // sqrt(3 + 1) = 2, xhat = -1, 1
  expect_values(run(BatchNormApply{.epsilon = 1}, {x, mean, variance, gamma, beta})[0], {-9, 11});
  expect_values(run(BatchNormApply{.epsilon = 1, .residual = true, .relu = true},
                    {x, mean, variance, gamma, beta, residual})[0],
                {0, 15});
  const Tensor dy = f64({2, 1}, {1, 3});
  const auto sums = run(BatchNormGradientSums{.epsilon = 1}, {x, dy, mean, variance});
  expect_values(sums[0], {4});
  expect_values(sums[1], {2});
  // 10 / 2 * (dy - (4 + xhat * 2) / 2)
  expect_values(run(BatchNormInputGradient{.epsilon = 1},
                    {x, dy, mean, variance, gamma, sums[0], sums[1], f64({1, 1}, {2})})[0],
                {0, 0});
  expect_values(
      run(BatchNormInputGradient{.epsilon = 1, .weights = true},
          {x, dy, mean, variance, gamma, sums[0], sums[1], f64({1, 1}, {1}), f64({2}, {0, 1})})[0],
      {5, -15});
}

TEST(ReferenceLiterals, ElementwiseEdges) {
  const Tensor a = f64({4}, {-1, 0, kNaN, kInfinity});
  expect_values(run(Relu{}, {a})[0], {0, 0, kNaN, kInfinity});
  expect_values(run(Binary{BinaryKind::kMaximum}, {a, f64({}, {0.5})})[0],
                {0.5, 0.5, kNaN, kInfinity});
  expect_values(run(IsFinite{}, {a})[0].converted(DType::f64), {1, 1, 0, 0});
  expect_values(run(Compare{CompareKind::kGreaterEqual}, {a, a})[0].converted(DType::f64),
                {1, 1, 0, 1});
  const Tensor condition = Tensor::of<bool>({4}, {true, false, false, true});
  expect_values(run(Select{}, {condition, a, f64({4}, {7, 7, 7, 7})})[0], {-1, 7, 7, kInfinity});
  expect_values(run(ReluGradient{}, {f64({2}, {5, 6}), f64({2}, {0, 1})})[0], {0, 6});
}

TEST(ReferenceLiterals, SumsBroadcastsAndPictures) {
  const Tensor x = f64({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_values(run(Sum{.axes = {0}}, {x})[0], {5, 7, 9});
  expect_values(run(Sum{.axes = {1}}, {x})[0], {6, 15});
  expect_values(run(Broadcast{.shape = {2, 3}, .axes = {0}}, {f64({3}, {1, 2, 3})})[0],
                {1, 2, 3, 1, 2, 3});
  expect_values(run(Broadcast{.shape = {2, 3}, .axes = {1}}, {f64({2}, {1, 2})})[0],
                {1, 1, 1, 2, 2, 2});
  expect_values(run(SumSquares{}, {x, f64({}, {3})})[0], {100});
  const Tensor pixels = Tensor::of<std::uint8_t>({1, 1, 2, 2}, {0, 100, 255, 110});
  expect_values(
      run(NormalizeImages{.mean = {5, 100}, .scale = {2, 0.5}, .dtype = DType::f64}, {pixels})[0],
      {-10, 0, 500, 5});
  expect_values(run(Convert{.dtype = DType::f64}, {pixels})[0], {0, 100, 255, 110});
}

// 2^24 + 1 is no f32: adding ones in f32 would stop there.
TEST(ReferenceLiterals, SumsOfF32AreFormedInDouble) {
  const Tensor x = Tensor::of<float>({4}, {16777216, 1, 1, 1});
  EXPECT_EQ(run(Sum{.axes = {0}}, {x})[0].item(), 16777220);  // 16777219 rounded to even
  const Tensor squares = Tensor::of<float>({4}, {4096, 1, 1, 1});
  EXPECT_EQ(run(SumSquares{}, {squares})[0].item(), 16777220);
}

TEST(ReferenceLiterals, Bf16IsComputedInF32AndRoundedOnce) {
  const auto of = [](float a, float b) {
    return Tensor::of<BFloat16>({2}, {BFloat16(a), BFloat16(b)});
  };
  // bf16 keeps 8 bits of a number: 1 + 2^-8 is half way to the next one, and the even one is below.
  const auto sums = run(Binary{BinaryKind::kAdd}, {of(1, -3), of(0x1p-8F, 0x1.8p-8F)});
  EXPECT_EQ(static_cast<float>(sums[0].values<BFloat16>()[0]), 1.0F);
  EXPECT_EQ(static_cast<float>(sums[0].values<BFloat16>()[1]), -3.0F);
}

}  // namespace
}  // namespace toroid
