// What real graphs look like in print.
#include <gtest/gtest.h>

#include "toroid/ops/batch_norm.h"
#include "toroid/ops/collectives.h"
#include "toroid/ops/conv2d.h"
#include "toroid/ops/relu.h"

namespace toroid {
namespace {

TEST(OpPrint, ShowsPathsTypesOperandsAndAttributes) {
  Builder builder(Mesh{.data = 4});
  const Value x = builder.input(InputKind::kState, "x", {DType::f32, Shape{2, 5, 5, 3}});
  const Value kernel =
      builder.input(InputKind::kState, "stem/kernel", {DType::f32, Shape{3, 3, 3, 8}});
  {
    const auto scope = builder.scope("stem");
    const Value y = conv2d(builder, x, kernel, {.stride = {2, 2}, .padding = {1, 1, 1, 1}});
    const auto statistics = builder.add_all(BatchNormStatistics{}, {y});
    const auto counts = all_reduce(builder, {statistics[0]}, 2);
    const Value normal = builder.add(BatchNormApply{.gamma = false, .beta = false},
                                     {y, statistics[1], statistics[2]});
    builder.output("y", relu(builder, normal), true);
    builder.output("count", counts[0]);
  }
  EXPECT_EQ(print(builder.finish()),
            "graph data=4\n"
            "  x: f32[2,5,5,3] = input() kind=state name=x\n"
            "  stem/kernel: f32[3,3,3,8] = input() kind=state name=stem/kernel\n"
            "  stem/conv2d: f32[2,3,3,8] = conv2d(x, stem/kernel) stride=[2,2] padding=[1,1,1,1]\n"
            "  stem/batch_norm_statistics: f32[1,8], f32[1,8], f32[1,8] = "
            "batch_norm_statistics(stem/conv2d) groups=1\n"
            "  stem/all_reduce_start: f32[1,8] = all_reduce_start(stem/batch_norm_statistics) "
            "group_size=2\n"
            "  stem/collective_done: f32[1,8] = collective_done(stem/all_reduce_start)\n"
            "  stem/batch_norm_apply: f32[2,3,3,8] = batch_norm_apply(stem/conv2d, "
            "stem/batch_norm_statistics:1, stem/batch_norm_statistics:2) epsilon=1e-05 gamma=false "
            "beta=false\n"
            "  stem/relu: f32[2,3,3,8] = relu(stem/batch_norm_apply)\n"
            "output y = stem/relu per example\n"
            "output count = stem/collective_done\n");
}

}  // namespace
}  // namespace toroid
