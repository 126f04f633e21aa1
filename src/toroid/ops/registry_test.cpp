// Every op has every facet.
#include "toroid/ops/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "toroid/base/testing.h"
#include "toroid/ops/avg_pool.h"
#include "toroid/ops/batch_norm.h"
#include "toroid/ops/collectives.h"
#include "toroid/ops/concat.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/conv2d.h"
#include "toroid/ops/dropout.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/local_response_norm.h"
#include "toroid/ops/matmul.h"
#include "toroid/ops/max_pool.h"
#include "toroid/ops/sum.h"

namespace toroid {
namespace {

std::string title(const OpCase& op_case) {
  return op_case.op + ", " + op_case.label;
}

// A case built into a graph; its own nodes come after the inputs.
struct Built {
  explicit Built(const OpCase& op_case) {
    for (std::size_t i = 0; i < op_case.operands.size(); ++i) {
      inputs.push_back(
          builder.input(InputKind::kState, std::to_string(i), op_case.operands[i].type));
    }
    results = op_case.build(builder, inputs);
    nodes.assign(builder.graph().nodes.begin() + static_cast<std::ptrdiff_t>(inputs.size()),
                 builder.graph().nodes.end());
  }

  std::vector<TensorType> input_types(const Node& node) const {
    std::vector<TensorType> types;
    for (const Value value : node.inputs) types.push_back(builder.type(value));
    return types;
  }

  Builder builder;
  std::vector<Value> inputs, results;
  std::vector<Node> nodes;
};

template <class F>
void for_all_nodes(F&& f) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const OpCase& op_case : op_cases(dtype)) {
      SCOPED_TRACE(title(op_case));
      Built built(op_case);
      ASSERT_FALSE(built.nodes.empty());
      for (const Node& node : std::vector<Node>(built.nodes)) f(op_case, built, node);
    }
  }
}

TEST(Registry, NamesAreSortedAndUnique) {
  const auto& names = op_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::set<std::string_view>(names.begin(), names.end()).size(), names.size());
}

TEST(Registry, EveryOpHasACaseAndEveryCaseAKnownOp) {
  std::set<std::string> covered, titles;
  for (const OpCase& op_case : op_cases(DType::f32)) {
    covered.insert(op_case.op);
    EXPECT_TRUE(titles.insert(title(op_case)).second) << "twice: " << title(op_case);
    bool contains_it = false;
    for (const Node& node : Built(op_case).nodes) contains_it |= node.op.name() == op_case.op;
    EXPECT_TRUE(contains_it) << title(op_case);
  }
  const auto& names = op_names();
  EXPECT_EQ(covered, std::set<std::string>(names.begin(), names.end()));
}

TEST(Registry, CasesAreTheSameForAllFloatTypes) {
  const auto f32 = op_cases(DType::f32), f64 = op_cases(DType::f64);
  ASSERT_EQ(f32.size(), f64.size());
  for (std::size_t i = 0; i < f32.size(); ++i) {
    EXPECT_EQ(title(f32[i]), title(f64[i]));
    for (std::size_t k = 0; k < f32[i].operands.size(); ++k) {
      const Tensor narrow = make_operand(f32[i].operands[k], 3, static_cast<std::uint32_t>(k));
      const Tensor wide = make_operand(f64[i].operands[k], 3, static_cast<std::uint32_t>(k));
      EXPECT_TRUE(wide.converted(narrow.dtype()).identical(narrow)) << title(f32[i]);
    }
  }
}

// A gradient that exists has its operand's type; one that does not says why.
TEST(Registry, EveryOpHasAGradientOrAReason) {
  for_all_nodes([](const OpCase& op_case, Built& built, const Node& node) {
    std::vector<Value> outputs, output_gradients;
    const auto& nodes = built.builder.graph().nodes;
    const auto place = std::find_if(nodes.begin(), nodes.end(),
                                    [&](const Node& other) { return other.path == node.path; });
    for (std::size_t i = 0; i < node.types.size(); ++i) {
      outputs.push_back({static_cast<int>(place - nodes.begin()), static_cast<int>(i)});
      output_gradients.push_back(built.builder.input(
          InputKind::kState, node.path + " gradient " + std::to_string(i), node.types[i]));
    }
    GradientContext context(built.builder, node.inputs, outputs, output_gradients);
    const Gradient gradient = node.op.gradient(context);
    if (const auto* refusal = std::get_if<NotDifferentiable>(&gradient)) {
      EXPECT_FALSE(refusal->reason.empty());
      EXPECT_TRUE(op_case.differentiable.empty());
      return;
    }
    const auto& found = std::get<std::vector<Value>>(gradient);
    ASSERT_EQ(found.size(), node.inputs.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i]) continue;
      EXPECT_EQ(built.builder.type(found[i]), built.builder.type(node.inputs[i]));
    }
    for (const std::size_t i : op_case.differentiable) EXPECT_TRUE(found.at(i));
  });
}

TEST(Registry, CostsAreFiniteAndNotNegative) {
  for_all_nodes([](const OpCase&, Built& built, const Node& node) {
    const Cost cost = node.op.cost(built.input_types(node), node.types);
    EXPECT_TRUE(std::isfinite(cost.flops) && cost.flops >= 0) << cost.flops;
    EXPECT_TRUE(std::isfinite(cost.bytes) && cost.bytes >= 0) << cost.bytes;
  });
}

TEST(Registry, AttributesPrintAsNamesAndValues) {
  for_all_nodes([](const OpCase&, Built&, const Node& node) {
    std::istringstream text(node.op.attributes());
    for (std::string pair; std::getline(text, pair, ' ');) {
      const std::size_t equals = pair.find('=');
      ASSERT_NE(equals, std::string::npos) << text.str();
      EXPECT_EQ(pair.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), equals) << text.str();
      EXPECT_GT(equals, 0U) << text.str();
      EXPECT_GT(pair.size(), equals + 1) << text.str();
    }
  });
}

TEST(Registry, InferRefusesTheWrongNumberOfOperands) {
  for_all_nodes([](const OpCase&, Built& built, const Node& node) {
    std::vector<TensorType> types = built.input_types(node);
    if (!types.empty()) {
      EXPECT_NE(error_of([&] { (void)node.op.infer({}); }), "");
    }
    // A done takes whatever its start has in flight; the graph's verify compares the two.
    if (node.op.as<CollectiveDone>() != nullptr) return;
    types.push_back({DType::u32, Shape{13, 13, 13}});
    EXPECT_NE(error_of([&] { (void)node.op.infer(types); }), "");
  });
}

TEST(Registry, InferRefusesTheWrongTypeOfEachOperand) {
  for_all_nodes([](const OpCase&, Built& built, const Node& node) {
    // These two take anything.
    if (node.op.as<CollectiveDone>() != nullptr || node.op.as<Convert>() != nullptr) return;
    const std::vector<TensorType> types = built.input_types(node);
    for (std::size_t i = 0; i < types.size(); ++i) {
      std::vector<TensorType> wrong = types;
      wrong[i] = {DType::u32, Shape{13, 13, 13}};
      EXPECT_NE(error_of([&] { (void)node.op.infer(wrong); }), "") << "operand " << i;
    }
  });
}

TEST(OpErrors, SayWhatIsWrongAndWhatWasExpected) {
  Builder builder;
  const auto value = [&](const std::string& name, DType dtype, Shape shape) {
    return builder.input(InputKind::kState, name, {dtype, std::move(shape)});
  };
  const Value image = value("image", DType::f32, {8, 4, 4, 3});
  const Value kernel = value("kernel", DType::f32, {3, 3, 4, 16});
  const Value matrix = value("matrix", DType::f32, {3, 7});
  const Value vector = value("vector", DType::f32, {7});
  const Value labels = value("labels", DType::i32, {8});
  EXPECT_ERROR(conv2d(builder, image, kernel, {}),
               "conv2d(f32[8,4,4,3], f32[3,3,4,16]): the kernel expects 4 input channels, x has 3");
  EXPECT_ERROR(conv2d(builder, image, kernel, {.groups = 2}),
               "2 groups must divide the 3 input channels and the 16 filters");
  EXPECT_ERROR(conv2d(builder, image, kernel, {.groups = 0}), "groups must be at least 1, is 0");
  EXPECT_ERROR(conv2d(builder, value("wide", DType::f32, {8, 4, 4, 6}), kernel, {.groups = 2}),
               "the kernel expects 4 input channels in each of 2 groups, x has 6");
  EXPECT_ERROR(matmul(builder, matrix, vector),
               "matmul(f32[3,7], f32[7]): b must have rank 2, is f32[7]");
  EXPECT_ERROR(matmul(builder, matrix, matrix),
               "matmul(f32[3,7], f32[3,7]): the inner dimensions differ: 7 and 3");
  EXPECT_ERROR(add(builder, matrix, vector), "the operands' shapes differ: f32[3,7] and f32[7]");
  EXPECT_ERROR(exp(builder, labels), "x must have a float type, is i32[8]");
  EXPECT_ERROR(builder.add(BatchNormStatistics{.groups = 3}, {image}),
               "8 examples do not form 3 equal groups");
  EXPECT_ERROR(max_pool(builder, image, {.window = {2, 2}, .padding = {2, 0, 0, 0}}),
               "the padding must be smaller than the window");
  EXPECT_ERROR(avg_pool(builder, image, {.window = {2, 2}, .padding = {0, 0, 0, 2}}),
               "the padding must be smaller than the window");
  EXPECT_ERROR(concat(builder, {matrix, vector}, 0),
               "operand 1, f32[7], must be like operand 0, f32[3,7], in all but dimension 0");
  EXPECT_ERROR(concat(builder, {matrix, matrix}, 2),
               "the axis must be below the rank of f32[3,7], is 2");
  EXPECT_ERROR(slice(builder, matrix, {.axis = 1, .start = 5, .limit = 8}),
               "no slice 5 .. 8 of f32[3,7] along axis 1");
  const Value ids = value("ids", DType::u32, {8}), seed = value("seed", DType::u32, {});
  const Value step = value("step", DType::i32, {});
  EXPECT_ERROR(dropout(builder, image, ids, seed, step, {.rate = 1}),
               "the rate must be in [0, 1), is 1");
  EXPECT_ERROR(dropout(builder, matrix, ids, seed, step, {}), "ids must be u32[3], is u32[8]");
  EXPECT_ERROR(local_response_norm(builder, image, {.size = 4}),
               "the size must be odd and positive, is 4");
  EXPECT_ERROR(local_response_norm(builder, image, {.k = 0}),
               "k must be above 0 and alpha at least 0, are 0 and 0.0001");
  EXPECT_ERROR(reduce_scatter(builder, {vector}, 2), "f32[7] is no multiple of the group size 2");
  EXPECT_ERROR(reshape(builder, matrix, {4, 5}), "21 elements do not fit [4,5]");
  EXPECT_ERROR(sum(builder, matrix, {1, 0}), "axes must be ascending and below 2, axis 0 is not");
  EXPECT_ERROR(global_average_pool(builder, matrix), "x must have rank 4, is [3,7]");
}

// The formulas of SAME in TensorFlow: ceil(size / stride) outputs, the odd pixel below and right.
TEST(SamePadding, IsTensorFlows) {
  EXPECT_EQ(same_padding({224, 224}, {7, 7}, {2, 2}), (Padding{2, 3, 2, 3}));
  EXPECT_EQ(same_padding({28, 5}, {3, 3}, {1, 1}), (Padding{1, 1, 1, 1}));
  EXPECT_EQ(same_padding({5, 6}, {3, 3}, {2, 2}), (Padding{1, 1, 0, 1}));
  EXPECT_EQ(same_padding({7, 7}, {1, 1}, {2, 2}), (Padding{0, 0, 0, 0}));
  EXPECT_EQ(window_output({224, 224}, {7, 7}, {2, 2}, {2, 3, 2, 3}),
            (std::array<std::int64_t, 2>{112, 112}));
  EXPECT_ERROR(window_output({2, 2}, {3, 3}, {1, 1}, {}),
               "the window of 3 does not fit the padded height of 2");
}

// A convolution's multiply-adds: 2 * N*OH*OW*K * kh*kw*C.
TEST(Costs, OfConvolutionsAndProductsCountMultiplyAddsAsTwo) {
  Builder builder;
  const TensorType x{DType::f32, Shape{2, 8, 8, 3}}, kernel{DType::f32, Shape{3, 3, 3, 16}};
  const Op op = Conv2d{.padding = {1, 1, 1, 1}};
  const std::vector<TensorType> inputs{x, kernel};
  EXPECT_EQ(op.cost(inputs, op.infer(inputs)).flops, 2.0 * 2 * 8 * 8 * 16 * 27);
  const std::vector<TensorType> matrices{{DType::f32, Shape{3, 5}}, {DType::f32, Shape{5, 7}}};
  const Op product = Matmul{};
  EXPECT_EQ(product.cost(matrices, product.infer(matrices)).flops, 2.0 * 3 * 5 * 7);
  EXPECT_EQ(product.cost(matrices, product.infer(matrices)).bytes, 4.0 * (15 + 35 + 21));
}

TEST(Collectives, OfAGroupOfOneAreTheOperandsThemselves) {
  Builder builder;
  const Value x = builder.input(InputKind::kState, "x", {DType::f32, Shape{4}});
  EXPECT_EQ(all_reduce(builder, {x}, 1), std::vector<Value>{x});
  EXPECT_EQ(reduce_scatter(builder, {x}, 1), std::vector<Value>{x});
  EXPECT_EQ(all_gather(builder, {x}, 1), std::vector<Value>{x});
  EXPECT_EQ(builder.graph().nodes.size(), 1U);
}

}  // namespace
}  // namespace toroid
