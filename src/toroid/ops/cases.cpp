// The worked cases of every op; see registry.h.
#include <fmt/format.h>

#include "toroid/ops/batch_norm.h"
#include "toroid/ops/collectives.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/conv2d.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/matmul.h"
#include "toroid/ops/max_pool.h"
#include "toroid/ops/normalize_images.h"
#include "toroid/ops/registry.h"
#include "toroid/ops/relu.h"
#include "toroid/ops/softmax_cross_entropy.h"
#include "toroid/ops/sum.h"

namespace toroid {
namespace {

using Size = std::array<std::int64_t, 2>;

class Cases {
 public:
  explicit Cases(DType float_type) : float_(float_type) {}

  Operand normal(Shape shape) const { return {{float_, std::move(shape)}, Fill::kNormal}; }
  Operand positive(Shape shape) const { return {{float_, std::move(shape)}, Fill::kPositive}; }
  Operand distinct(Shape shape) const { return {{float_, std::move(shape)}, Fill::kDistinct}; }
  Operand mask(Shape shape) const { return {{float_, std::move(shape)}, Fill::kMask}; }
  static Operand labels(std::int64_t n, int bound) {
    return {{DType::i32, Shape{n}}, Fill::kLabels, bound};
  }

  // One op; the operands' positions that may be differentiated.
  void add(const Op& op, std::string label, std::vector<Operand> operands,
           std::vector<std::size_t> differentiable = {}) {
    const std::string name(op.name());
    cases_.push_back({name, std::move(label), std::move(operands),
                      [op](Builder& builder, const std::vector<Value>& inputs) {
                        return builder.add_all(op, inputs);
                      },
                      std::move(differentiable)});
  }

  // A collective start with its done; counted as a case of both.
  void add_collective(const Op& start, const std::vector<Operand>& operands) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < operands.size(); ++i) all.push_back(i);
    const auto build = [start](Builder& builder, const std::vector<Value>& inputs) {
      return builder.add_all(CollectiveDone{}, builder.add_all(start, inputs));
    };
    cases_.push_back({std::string(start.name()), "group of one", operands, build, all});
    cases_.push_back(
        {std::string(CollectiveDone::kName), std::string(start.name()), operands, build, all});
  }

  DType float_type() const { return float_; }
  std::vector<OpCase> take() { return std::move(cases_); }

 private:
  DType float_;
  std::vector<OpCase> cases_;
};

struct Window {
  std::string label;
  std::int64_t n;
  Size input;
  std::int64_t channels, filters;
  Size kernel, stride;
  Padding padding;
  std::int64_t groups = 1;
};

std::vector<Window> windows() {
  return {
      {"1x1 picture", 2, {1, 1}, 3, 5, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {"1x1 picture under a padded 3x3", 1, {1, 1}, 1, 1, {3, 3}, {1, 1}, {1, 1, 1, 1}},
      {"3x3 same", 2, {5, 7}, 3, 17, {3, 3}, {1, 1}, {1, 1, 1, 1}},
      {"3x3 stride 2, padding below and right", 2, {6, 8}, 4, 8, {3, 3}, {2, 2}, {0, 1, 0, 1}},
      {"padding on one side", 1, {4, 5}, 2, 3, {2, 3}, {1, 2}, {1, 0, 0, 2}},
      {"stride above the kernel", 3, {9, 7}, 5, 6, {2, 1}, {3, 4}, {0, 0, 0, 0}},
      {"rows left over by the stride", 1, {8, 9}, 1, 2, {3, 3}, {3, 2}, {0, 0, 1, 0}},
      {"1x1 projection, stride 2", 2, {7, 5}, 20, 33, {1, 1}, {2, 2}, {0, 0, 0, 0}},
      {"16 channels", 2, {6, 6}, 16, 32, {3, 3}, {1, 1}, {1, 1, 1, 1}},
      {"7x7 stem", 1, {15, 15}, 3, 8, {7, 7}, {2, 2}, {3, 3, 3, 3}},
  };
}

std::vector<Window> grouped_windows() {
  return {
      {"1x1 picture, 2 groups", 2, {1, 1}, 2, 2, {1, 1}, {1, 1}, {0, 0, 0, 0}, 2},
      {"3x3 same, 2 groups", 2, {5, 7}, 6, 4, {3, 3}, {1, 1}, {1, 1, 1, 1}, 2},
      {"5 groups of odd size, stride 2", 1, {9, 7}, 15, 35, {3, 2}, {2, 2}, {1, 0, 0, 1}, 5},
      {"groups of 16 channels", 1, {6, 6}, 32, 64, {3, 3}, {1, 1}, {1, 1, 1, 1}, 2},
      {"depthwise", 2, {7, 5}, 17, 17, {3, 3}, {1, 1}, {1, 1, 1, 1}, 17},
      {"depthwise, two filters a channel, stride 2",
       2,
       {6, 8},
       3,
       6,
       {5, 5},
       {2, 2},
       {1, 2, 1, 2},
       3},
  };
}

void add_convolutions(Cases& cases, const std::vector<Window>& convolutions) {
  for (const Window& w : convolutions) {
    const Size out = window_output(w.input, w.kernel, w.stride, w.padding);
    const Operand x = cases.normal({w.n, w.input[0], w.input[1], w.channels});
    const Operand kernel =
        cases.normal({w.kernel[0], w.kernel[1], w.channels / w.groups, w.filters});
    const Operand dy = cases.normal({w.n, out[0], out[1], w.filters});
    cases.add(Conv2d{.stride = w.stride, .padding = w.padding, .groups = w.groups}, w.label,
              {x, kernel}, {0, 1});
    cases.add(
        Conv2dInputGradient{
            .stride = w.stride, .padding = w.padding, .input_size = w.input, .groups = w.groups},
        w.label, {dy, kernel});
    cases.add(
        Conv2dKernelGradient{
            .stride = w.stride, .padding = w.padding, .kernel_size = w.kernel, .groups = w.groups},
        w.label, {x, dy});
  }
}

void add_pools(Cases& cases) {
  const std::vector<Window> pools{
      {"2x2", 2, {4, 6}, 3, 0, {2, 2}, {2, 2}, {0, 0, 0, 0}},
      {"3x3 stride 2, overlapping, odd size", 2, {7, 5}, 17, 0, {3, 3}, {2, 2}, {1, 1, 1, 1}},
      {"1x1 picture", 3, {1, 1}, 1, 0, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {"stride above the window, padding on one side",
       1,
       {8, 7},
       2,
       0,
       {2, 2},
       {3, 4},
       {1, 0, 0, 1}},
  };
  for (const Window& w : pools) {
    const Size out = window_output(w.input, w.kernel, w.stride, w.padding);
    const Operand x = cases.distinct({w.n, w.input[0], w.input[1], w.channels});
    cases.add(MaxPool{.window = w.kernel, .stride = w.stride, .padding = w.padding}, w.label, {x},
              {0});
    cases.add(MaxPoolGradient{.window = w.kernel, .stride = w.stride, .padding = w.padding},
              w.label, {x, cases.normal({w.n, out[0], out[1], w.channels})});
  }
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
  std::vector<Operand> operands{
      x, x, statistic, variance, cases.normal({s.x.back()}), statistic, statistic, variance};
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
  cases.add(ReluGradient{}, "picture", {cases.normal({2, 3, 5, 7}), cases.normal({2, 3, 5, 7})});
}

}  // namespace

std::vector<OpCase> op_cases(DType float_type) {
  Cases cases(float_type);
  add_convolutions(cases, windows());
  add_convolutions(cases, grouped_windows());
  add_pools(cases);
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
