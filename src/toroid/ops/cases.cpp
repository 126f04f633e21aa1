// The worked cases of every op; see registry.h.
#include "toroid/ops/cases.h"

#include <fmt/format.h>

#include "toroid/ops/batch_norm.h"
#include "toroid/ops/collectives.h"
#include "toroid/ops/concat.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/dropout.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/local_response_norm.h"
#include "toroid/ops/matmul.h"
#include "toroid/ops/normalize_images.h"
#include "toroid/ops/relu.h"
#include "toroid/ops/softmax_cross_entropy.h"
#include "toroid/ops/sum.h"

namespace toroid {
namespace {

void add_joins(Cases& cases) {
  cases.add(Concat{.axis = 3}, "channels",
            {cases.normal({2, 3, 5, 1}), cases.normal({2, 3, 5, 17}), cases.normal({2, 3, 5, 4})},
            {0, 1, 2});
  cases.add(Concat{.axis = 0}, "examples", {cases.normal({2, 3}), cases.normal({1, 3})}, {0, 1});
  cases.add(Concat{.axis = 1}, "middle, one operand twice the other",
            {cases.normal({3, 2, 2}), cases.normal({3, 4, 2})}, {0, 1});
  cases.add(Concat{}, "one", {cases.normal({3})}, {0});
  const Operand x = cases.normal({2, 3, 5, 7});
  cases.add(Slice{.axis = 3, .start = 2, .limit = 5}, "channels", {x}, {0});
  cases.add(Slice{.axis = 0, .start = 0, .limit = 1}, "first example", {x}, {0});
  cases.add(Slice{.axis = 2, .start = 4, .limit = 5}, "last column", {x}, {0});
  cases.add(Slice{.axis = 1, .start = 0, .limit = 3}, "all", {x}, {0});
}

void add_dropout(Cases& cases) {
  const auto operands = [&](const Shape& x) {
    return std::vector<Operand>{cases.normal(x),
                                {{DType::u32, Shape{x[0]}}, Fill::kWords},
                                {{DType::u32, Shape{}}, Fill::kWords},
                                {{DType::i32, Shape{}}, Fill::kLabels, 100000}};
  };
  cases.add(Dropout{.rate = 0.5, .key = 0x9E3779B9}, "dense", operands({3, 37}), {0});
  cases.add(Dropout{.rate = 0.2, .key = 1}, "picture", operands({2, 5, 7, 9}), {0});
  cases.add(Dropout{.rate = 0.9, .key = 0xffffffff}, "one element", operands({5, 1}), {0});
  cases.add(Dropout{.rate = 0.3, .key = 7}, "vector", operands({6}), {0});
  cases.add(Dropout{.rate = 0, .key = 7}, "rate 0", operands({2, 8}), {0});
}

void add_local_response_norms(Cases& cases) {
  const std::vector<std::pair<std::string, LocalResponseNorm>> norms{
      {"the paper's", {}},
      {"strong", {.size = 3, .k = 1, .alpha = 0.5, .beta = 0.75}},
      {"one channel, another power", {.size = 1, .k = 0.5, .alpha = 0.3, .beta = 1.25}},
      {"wider than the channels", {.size = 35, .k = 2, .alpha = 0.1, .beta = 0.5}},
  };
  const Operand x = cases.normal({2, 3, 5, 17});
  for (const auto& [label, n] : norms) {
    cases.add(n, label, {x}, {0});
    cases.add(LocalResponseNormGradient{.size = n.size, .k = n.k, .alpha = n.alpha, .beta = n.beta},
              label, {x, x});
  }
  cases.add(LocalResponseNorm{.alpha = 0.5}, "1x1 picture", {cases.normal({1, 1, 1, 1})}, {0});
}

void add_dense(Cases& cases) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      cases.add(Matmul{.transpose_a = ta, .transpose_b = tb},
                fmt::format("transpose a={} b={}", ta, tb),
                {cases.normal(ta ? Shape{7, 3} : Shape{3, 7}),
                 cases.normal(tb ? Shape{5, 7} : Shape{7, 5})},
                {0, 1});
    }
  }
  cases.add(Matmul{}, "one by one", {cases.normal({1, 1}), cases.normal({1, 1})}, {0, 1});
  cases.add(AddBias{}, "matrix", {cases.normal({3, 5}), cases.normal({5})}, {0, 1});
  cases.add(AddBias{}, "picture, one channel", {cases.normal({2, 3, 4, 1}), cases.normal({1})},
            {0, 1});
}

struct BatchNormShape {
  std::string label;
  Shape x;
  std::int64_t groups;
  bool weighted;
};

std::vector<BatchNormShape> batch_norm_shapes() {
  return {
      {"one group", {4, 3, 5, 17}, 1, false},
      {"two groups", {4, 2, 2, 3}, 2, false},
      {"each example its own", {3, 4, 1, 16}, 3, false},
      {"padding", {4, 3, 3, 5}, 1, true},
      {"padding in groups", {6, 2, 1, 1}, 2, true},
      {"dense", {5, 7}, 1, false},
  };
}

void add_batch_norm_apply(Cases& cases, const BatchNormShape& s) {
  const std::int64_t channels = s.x.back();
  const Operand statistic = cases.normal({s.groups, channels});
  const Operand variance = cases.positive({s.groups, channels});
  const Operand gamma = cases.normal({channels});
  // Constant statistics: the exact derivative of the op itself. The dependence of batch statistics
  // on x is tested on the composition (batch_norm_test.cpp).
  cases.add(BatchNormApply{.epsilon = 1e-3}, s.label,
            {cases.normal(s.x), statistic, variance, gamma, gamma}, {0, 3, 4});
  cases.add(BatchNormApply{.gamma = false, .beta = false}, s.label + ", plain",
            {cases.normal(s.x), statistic, variance}, {0});
  cases.add(BatchNormApply{.gamma = false, .relu = true}, s.label + ", no gamma, relu",
            {cases.normal(s.x), statistic, variance, gamma});
  cases.add(BatchNormApply{.residual = true, .relu = true}, s.label + ", residual, relu",
            {cases.normal(s.x), statistic, variance, gamma, gamma, cases.normal(s.x)});
}

void add_batch_norm_gradients(Cases& cases, const BatchNormShape& s) {
  const Operand statistic = cases.normal({s.groups, s.x.back()});
  const Operand variance = cases.positive({s.groups, s.x.back()});
  const Operand x = cases.normal(s.x);
  cases.add(BatchNormGradientSums{}, s.label, {x, x, statistic, variance});
  const Operand channels = cases.normal({s.x.back()});
  cases.add(BatchNormGradientSums{.gamma = true, .beta = true, .relu = true}, s.label + ", relu",
            {x, x, statistic, variance, channels, channels});
  cases.add(BatchNormGradientSums{.beta = true, .relu = true}, s.label + ", relu, no gamma",
            {x, x, statistic, variance, channels});
  std::vector<Operand> with_relu{x,        x,         statistic, variance, channels,
                                 channels, statistic, statistic, variance};
  if (s.weighted) with_relu.push_back(cases.mask({s.x[0]}));
  cases.add(BatchNormInputGradient{.beta = true, .relu = true, .weights = s.weighted},
            s.label + ", relu", with_relu);
  std::vector<Operand> operands{x,        x,         statistic, variance,
                                channels, statistic, statistic, variance};
  if (s.weighted) operands.push_back(cases.mask({s.x[0]}));
  cases.add(BatchNormInputGradient{.weights = s.weighted}, s.label, operands);
  cases.add(BatchNormInputGradient{.gamma = false, .sums = false},
            s.label + ", constant statistics", {x, x, statistic, variance});
}

void add_batch_norm(Cases& cases) {
  for (const BatchNormShape& s : batch_norm_shapes()) {
    std::vector<Operand> operands{cases.normal(s.x)};
    if (s.weighted) operands.push_back(cases.mask({s.x[0]}));
    cases.add(BatchNormStatistics{.groups = s.groups}, s.label, operands);
    add_batch_norm_apply(cases, s);
    add_batch_norm_gradients(cases, s);
  }
}

void add_elementwise(Cases& cases) {
  for (const auto kind : {UnaryKind::kNegate, UnaryKind::kExp, UnaryKind::kExpm1, UnaryKind::kLog,
                          UnaryKind::kSqrt}) {
    cases.add(Unary{kind}, std::string(name_of(kind)), {cases.positive({3, 7})}, {0});
  }
  const std::vector<std::pair<Shape, Shape>> shapes{
      {{3, 7}, {3, 7}}, {{}, {5}}, {{2, 3}, {}}, {{}, {}}};
  for (const auto& [a, b] : shapes) {
    const std::string label = fmt::format(" {} {}", a.str(), b.str());
    for (const auto kind : {BinaryKind::kAdd, BinaryKind::kSubtract, BinaryKind::kMultiply,
                            BinaryKind::kDivide, BinaryKind::kMaximum}) {
      cases.add(Binary{kind}, std::string(name_of(kind)) + label,
                {cases.normal(a), cases.positive(b)}, {0, 1});
    }
    for (const auto kind : {CompareKind::kEqual, CompareKind::kLess, CompareKind::kGreaterEqual}) {
      cases.add(Compare{kind}, std::string(name_of(kind)) + label,
                {cases.normal(a), cases.normal(b)});
    }
  }
  cases.add(Compare{CompareKind::kEqual}, "integers", {Cases::labels(9, 2), Cases::labels(9, 2)});
  cases.add(IsFinite{}, "matrix", {cases.normal({3, 5})});
  const auto bits = [](Shape shape) {
    return Operand{{DType::boolean, std::move(shape)}, Fill::kBits};
  };
  cases.add(Select{}, "elements", {bits({4, 5}), cases.normal({4, 5}), cases.normal({4, 5})},
            {1, 2});
  cases.add(Select{}, "scalar condition", {bits({}), cases.normal({4, 5}), cases.normal({4, 5})},
            {1, 2});
}

void add_sums(Cases& cases) {
  const std::vector<std::vector<std::int64_t>> axes{{0}, {2}, {0, 1, 2}, {1, 2}, {0, 1, 2, 3}, {3}};
  for (const auto& a : axes) {
    cases.add(Sum{.axes = a}, fmt::format("axes {}", fmt::join(a, ",")),
              {cases.normal({3, 4, 2, 5})}, {0});
  }
  cases.add(Broadcast{.shape = {2, 3, 4, 5}, .axes = {1, 2}}, "picture", {cases.normal({2, 5})},
            {0});
  cases.add(Broadcast{.shape = {3, 7}, .axes = {0, 1}}, "scalar", {cases.normal({})}, {0});
  cases.add(Broadcast{.shape = {3, 7}, .axes = {1}}, "columns", {cases.normal({3})}, {0});
  cases.add(SumSquares{}, "bucket",
            {cases.normal({3, 7}), cases.normal({}), cases.normal({1, 1, 2, 3})}, {0, 1, 2});
  cases.add(Reshape{.shape = {6, 4}}, "matrix", {cases.normal({2, 3, 4})}, {0});
  cases.add(Reshape{.shape = {}}, "scalar", {cases.normal({1, 1})}, {0});
}

void add_conversions(Cases& cases) {
  const DType f = cases.float_type();
  cases.add(Constant{.value = 0.25, .type = {f, Shape{2, 3}}}, "matrix", {});
  cases.add(Constant{.value = 1, .type = {DType::boolean, Shape{}}}, "bool scalar", {});
  cases.add(Constant{.value = -7, .type = {DType::i32, Shape{3}}}, "integers", {});
  cases.add(Convert{.dtype = f}, "labels", {Cases::labels(5, 7)});
  cases.add(Convert{.dtype = f}, "pixels", {{{DType::u8, Shape{2, 3}}, Fill::kPixels}});
  cases.add(Convert{.dtype = f}, "bits", {{{DType::boolean, Shape{8}}, Fill::kBits}});
  cases.add(Convert{.dtype = f}, "same type", {cases.normal({3})}, {0});
  const Operand grey{{DType::u8, Shape{2, 3, 5, 1}}, Fill::kPixels};
  const Operand colour{{DType::u8, Shape{1, 4, 3, 3}}, Fill::kPixels};
  cases.add(NormalizeImages{.mean = {70}, .scale = {0.0125}, .dtype = f}, "grey", {grey});
  cases.add(NormalizeImages{.mean = {120, 115, 100}, .scale = {0.017, 0.0175, 0.0178}, .dtype = f},
            "colour", {colour});
}

void add_losses(Cases& cases) {
  for (const double smoothing : {0.0, 0.1}) {
    const std::string label = fmt::format("smoothing {}", smoothing);
    cases.add(SoftmaxCrossEntropy{.label_smoothing = smoothing}, label,
              {cases.normal({6, 5}), Cases::labels(6, 5)}, {0});
    cases.add(SoftmaxCrossEntropyGradient{.label_smoothing = smoothing}, label,
              {cases.normal({6, 5}), Cases::labels(6, 5), cases.normal({6})});
  }
  cases.add(SoftmaxCrossEntropy{}, "one class", {cases.normal({2, 1}), Cases::labels(2, 1)}, {0});
  for (const std::int64_t k : {1, 3, 9}) {
    cases.add(InTopK{.k = k}, fmt::format("k {}", k),
              {cases.distinct({7, 5}), Cases::labels(7, 5)});
  }
}

void add_relu(Cases& cases) {
  cases.add(Relu{}, "picture", {cases.normal({2, 3, 5, 7})}, {0});
  cases.add(Relu{}, "scalar", {cases.normal({})}, {0});
  const Operand picture = cases.normal({2, 3, 5, 7});
  cases.add(ReluGradient{}, "picture", {picture, picture});
  cases.add(ReluGradient{}, "two gradients", {picture, picture, picture});
  cases.add(ReluGradient{}, "four gradients", {picture, picture, picture, picture, picture});
}

}  // namespace

std::vector<OpCase> op_cases(DType float_type) {
  Cases cases(float_type);
  add_window_cases(cases);
  add_joins(cases);
  add_dropout(cases);
  add_local_response_norms(cases);
  add_dense(cases);
  add_batch_norm(cases);
  add_elementwise(cases);
  add_sums(cases);
  add_conversions(cases);
  add_losses(cases);
  add_relu(cases);
  cases.add_collective(AllReduceStart{}, {cases.normal({3, 5}), cases.normal({})});
  cases.add_collective(ReduceScatterStart{}, {cases.normal({6})});
  cases.add_collective(AllGatherStart{}, {cases.normal({6}), cases.normal({1})});
  cases.add(AxisIndex{}, "world of one", {});
  return cases.take();
}

}  // namespace toroid
