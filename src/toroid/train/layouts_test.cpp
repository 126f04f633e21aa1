// What the cpu backend moves between layouts in the steps of real networks.
#include <gtest/gtest.h>

#include "toroid/backends/cpu/cpu.h"
#include "toroid/comm/self.h"
#include "toroid/train/step.h"

namespace toroid {
namespace {

std::vector<std::string> moved_values(const StepOptions& options) {
  SelfCommunicator communicator;
  const auto backend = make_cpu_backend(communicator);
  std::vector<std::string> paths;
  for (const NodeTime& node : backend->compile(build_train_graph(options, false))->node_times()) {
    if (node.op == "relayout") paths.push_back(node.path);
  }
  return paths;
}

StepOptions options_for(const char* model, std::int64_t size, bool bf16) {
  return {.model = model,
          .classes = 1000,
          .image_height = size,
          .image_width = size,
          .channels = 3,
          .global_batch = 4,
          .bf16 = bf16,
          .batch_norm_batch = 4,
          .optimizer = {.name = "sgd", .momentum = 0.9}};
}

using Paths = std::vector<std::string>;

TEST(Layouts, AResNet50StepMovesNothing) {
  EXPECT_EQ(moved_values(options_for("resnet50", 224, false)), Paths{});
  EXPECT_EQ(moved_values(options_for("resnet50", 224, true)), Paths{});
}

TEST(Layouts, AnInceptionV3StepMovesNothing) {
  EXPECT_EQ(moved_values(options_for("inception_v3", 299, false)), Paths{});
}

TEST(Layouts, ASmallResidualNetworksStepMovesNothing) {
  EXPECT_EQ(moved_values(options_for("resnet8", 28, false)), Paths{});
}

}  // namespace
}  // namespace toroid
