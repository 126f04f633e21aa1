#include "toroid/graph/builder.h"

#include <gtest/gtest.h>

#include "toroid/base/testing.h"
#include "toroid/graph/testing.h"

namespace toroid {
namespace {

const TensorType kVector{DType::f32, Shape{2}};

TEST(Builder, PathsAreUniqueWithinAScopeAndOverScopes) {
  Builder builder;
  {
    const auto stage = builder.scope("stage1");
    builder.add(ToyOp{}, {});
    {
      const auto block = builder.scope("block1");
      EXPECT_EQ(builder.scope_path(), "stage1/block1/");
      builder.add(ToyOp{}, {});
    }
    builder.add(ToyOp{}, {});
  }
  {
    const auto again = builder.scope("stage1");
    builder.add(ToyOp{}, {});
  }
  builder.add(ToyOp{}, {});
  std::vector<std::string> paths;
  for (const Node& node : builder.graph().nodes) paths.push_back(node.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"stage1/toy", "stage1/block1/toy", "stage1/toy_2",
                                             "stage1/toy_3", "toy"}));
}

TEST(Builder, ANodeNamedLikeAnInputGivesWay) {
  Builder builder;
  builder.input(InputKind::kState, "stem/toy", kVector);
  const auto scope = builder.scope("stem");
  EXPECT_EQ(builder.graph().name(builder.add(ToyOp{}, {})), "stem/toy_2");
}

TEST(Builder, AnInputAskedForAgainIsTheSameOne) {
  Builder builder;
  const Value x = builder.input(InputKind::kState, "x", kVector);
  const auto scope = builder.scope("stem");
  EXPECT_EQ(builder.input(InputKind::kState, "x", kVector), x);
  EXPECT_NE(builder.input(InputKind::kScalar, "x", kVector), x);
  EXPECT_ERROR(builder.input(InputKind::kState, "x", {DType::f64, Shape{2}}),
               "input x is used as f32[2] and as f64[2]");
}

TEST(Builder, AnOpThatRefusesIsAnErrorWithPathAndTypes) {
  Builder builder;
  const Value a = builder.input(InputKind::kState, "a", kVector);
  const Value b = builder.input(InputKind::kState, "b", {DType::f32, Shape{3}});
  const auto scope = builder.scope("stage2");
  EXPECT_ERROR(builder.add(ToyOp{}, {a, b}),
               "stage2/toy(f32[2], f32[3]): operands must be f32[2], one is f32[3]");
  EXPECT_ERROR(builder.add(ToyOp{}, {a, Value{}}), "stage2/toy: an operand of toy has no value");
}

TEST(Builder, FinishVerifies) {
  Builder builder;
  builder.update("momentum", builder.add(ToyOp{}, {}));
  EXPECT_ERROR(builder.finish(), "graph: update of unknown variable momentum");
}

}  // namespace
}  // namespace toroid
