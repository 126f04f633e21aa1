// Where the ops' worked cases do not go: ties, NaN, infinities, empty groups, conversions. XLA and
// the reference backend must give the same elements.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "toroid/backends/case_runner.h"
#include "toroid/backends/reference/reference.h"
#include "toroid/backends/xla/xla.h"
#include "toroid/backends/xla/xla_testing.h"
#include "toroid/comm/self.h"
#include "toroid/ops/batch_norm.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/relu.h"
#include "toroid/ops/softmax_cross_entropy.h"
#include "toroid/ops/sum.h"

namespace toroid {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class EdgeValues : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_PLUGIN();
    xla_ = make_xla_backend({.devices = 1});
    reference_ = make_reference_backend(self_);
  }

  // The op's results by both backends, equal within `tolerance`; those of XLA.
  std::vector<Tensor> results(const Op& op, const std::vector<Tensor>& operands,
                              double tolerance = 0) {
    OpCase op_case;
    for (const Tensor& operand : operands) op_case.operands.push_back({operand.type()});
    op_case.build = [op](Builder& builder, const std::vector<Value>& inputs) {
      return builder.add_all(op, inputs);
    };
    const auto got = run_case(*xla_, op_case, operands);
    const auto wanted = run_case(*reference_, op_case, operands);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_LE(relative_error(got[i], wanted[i]), tolerance) << op.name() << ", result " << i;
    }
    return got;
  }

  SelfCommunicator self_;
  std::unique_ptr<Backend> xla_, reference_;
};

std::vector<double> numbers(const Tensor& tensor) {
  const Tensor wide = tensor.converted(DType::f64);
  const auto values = wide.values<double>();
  return {values.begin(), values.end()};
}

TEST_F(EdgeValues, AClassAsLargeAsTheLabelsComesBeforeOnlyWithALowerIndex) {
  const Tensor logits = Tensor::of<double>({3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1});
  const Tensor labels = Tensor::of<std::int32_t>({3}, {0, 1, 2});
  EXPECT_EQ(numbers(results(InTopK{.k = 1}, {logits, labels})[0]), (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(numbers(results(InTopK{.k = 2}, {logits, labels})[0]), (std::vector<double>{1, 1, 0}));
}

TEST_F(EdgeValues, ANanLogitOfTheLabelComesLast) {
  const Tensor logits = Tensor::of<double>({2, 3}, {kNan, 1, 2, kNan, 1, 2});
  const Tensor labels = Tensor::of<std::int32_t>({2}, {0, 2});
  EXPECT_EQ(numbers(results(InTopK{.k = 2}, {logits, labels})[0]), (std::vector<double>{0, 1}));
  EXPECT_EQ(numbers(results(InTopK{.k = 3}, {logits, labels})[0]), (std::vector<double>{1, 1}));
}

TEST_F(EdgeValues, NanPassesTheRectifier) {
  const Tensor x = Tensor::of<double>({4}, {kNan, -1, 0, kInfinity});
  EXPECT_TRUE(std::isnan(numbers(results(Relu{}, {x})[0])[0]));
  const Tensor pictures = x.reshaped(Shape{4, 1});
  const Tensor mean(DType::f64, Shape{1, 1}), variance = Tensor::of<double>({1, 1}, {1});
  const BatchNormApply fused{.gamma = false, .beta = false, .relu = true};
  EXPECT_TRUE(std::isnan(numbers(results(fused, {pictures, mean, variance}, 1e-15)[0])[0]));
}

TEST_F(EdgeValues, NanComparesFalse) {
  const Tensor x = Tensor::of<double>({3}, {kNan, kNan, 1});
  const Tensor y = Tensor::of<double>({3}, {kNan, 1, kNan});
  for (const auto kind : {CompareKind::kEqual, CompareKind::kLess, CompareKind::kGreaterEqual}) {
    EXPECT_EQ(numbers(results(Compare{kind}, {x, y})[0]), (std::vector<double>{0, 0, 0}));
  }
  EXPECT_EQ(
      numbers(results(IsFinite{}, {Tensor::of<double>({4}, {1, kNan, kInfinity, -kInfinity})})[0]),
      (std::vector<double>{1, 0, 0, 0}));
}

TEST_F(EdgeValues, WhatSelectDoesNotChooseMayBeNan) {
  const Tensor condition = Tensor::of<bool>({2}, {true, false});
  const Tensor a = Tensor::of<double>({2}, {1, kNan}), b = Tensor::of<double>({2}, {kNan, 2});
  EXPECT_EQ(numbers(results(Select{}, {condition, a, b})[0]), (std::vector<double>{1, 2}));
}

TEST_F(EdgeValues, ConversionsTruncateAndRound) {
  const Tensor x = Tensor::of<double>({5}, {-2.7, 2.7, 0, 0.5, 1 + 0x1p-24});
  EXPECT_EQ(numbers(results(Convert{.dtype = DType::i32}, {x})[0]),
            (std::vector<double>{-2, 2, 0, 0, 1}));
  EXPECT_EQ(numbers(results(Convert{.dtype = DType::boolean}, {x})[0]),
            (std::vector<double>{1, 1, 0, 1, 1}));
  EXPECT_EQ(numbers(results(Convert{.dtype = DType::f32}, {x})[0])[4], 1);
  const Tensor ids = Tensor::of<std::uint32_t>({2}, {4294967295u, 16777217u});
  results(Convert{.dtype = DType::f64}, {ids});
  results(Convert{.dtype = DType::f32}, {ids});
  const Tensor labels = Tensor::of<std::int32_t>({3}, {-1, 0, 2});
  EXPECT_EQ(numbers(results(Convert{.dtype = DType::boolean}, {labels})[0]),
            (std::vector<double>{1, 0, 1}));
}

TEST_F(EdgeValues, AGroupOfPaddingHasStatisticsZero) {
  const Tensor x = Tensor::of<double>({2, 2}, {5, 6, 7, 9});
  const Tensor weights = Tensor::of<double>({2}, {0, 1});
  const auto statistics = results(BatchNormStatistics{.groups = 2}, {x, weights});
  EXPECT_EQ(numbers(statistics[0]), (std::vector<double>{0, 0, 1, 1}));
  EXPECT_EQ(numbers(statistics[1]), (std::vector<double>{0, 0, 7, 9}));
  EXPECT_EQ(numbers(statistics[2]), (std::vector<double>{0, 0, 0, 0}));
  const Tensor zeros(DType::f64, Shape{1, 2});
  const Tensor dx = results(BatchNormInputGradient{.gamma = false},
                            {x, x, zeros, zeros, zeros, zeros, zeros}, 1e-15)[0];
  EXPECT_TRUE(std::isfinite(numbers(dx)[0]));
}

TEST_F(EdgeValues, TheMeanIsTakenOutBeforeSquaring) {
  Tensor x(DType::f32, Shape{1000, 1});
  for (std::size_t i = 0; i < 1000; ++i) x.values<float>()[i] = 10000.0f + (i % 2 ? 1.0f : -1.0f);
  const auto statistics = results(BatchNormStatistics{}, {x}, 1e-6);
  EXPECT_NEAR(statistics[2].item(), 1000, 1e-2);
}

TEST_F(EdgeValues, LargeLogitsDoNotOverflow) {
  const Tensor logits = Tensor::of<double>({2, 3}, {1e5, 0, -1e5, -1e5, 3, 2});
  const Tensor labels = Tensor::of<std::int32_t>({2}, {0, 2});
  const Tensor loss = results(SoftmaxCrossEntropy{}, {logits, labels}, 1e-15)[0];
  EXPECT_EQ(numbers(loss)[0], 0);
  results(SoftmaxCrossEntropyGradient{.label_smoothing = 0.1},
          {logits, labels, Tensor::of<double>({2}, {1, 2})}, 1e-15);
}

TEST_F(EdgeValues, ASumOfAMillionSquaresIsExactToF32) {
  Tensor x(DType::f32, Shape{1 << 20});
  for (float& value : x.values<float>()) value = 0.1f;
  const double wanted = (1 << 20) * static_cast<double>(0.1f) * static_cast<double>(0.1f);
  EXPECT_NEAR(results(SumSquares{}, {x}, 1e-7)[0].item() / wanted, 1, 6e-8);
}

}  // namespace
}  // namespace toroid
