#include "toroid/train/layer_table.h"

#include <gtest/gtest.h>

namespace toroid {
namespace {

StepOptions options_of(const std::string& model, std::int64_t size, std::int64_t batch) {
  return {.model = model,
          .classes = 1000,
          .image_height = size,
          .image_width = size,
          .channels = 3,
          .global_batch = batch,
          .batch_norm_batch = batch};
}

const LayerRow& row(const LayerTable& table, const std::string& path) {
  for (const LayerRow& row : table.rows) {
    if (row.path == path) return row;
  }
  throw std::out_of_range(path);
}

TEST(LayerTable, LayersHaveTheirShapeParametersAndFlops) {
  const LayerTable table = layer_table(options_of("resnet18", 224, 2));
  const LayerRow& stem = row(table, "stem/conv");
  EXPECT_EQ(stem.output, (Shape{2, 112, 112, 64}));
  EXPECT_EQ(stem.parameters(), 7 * 7 * 3 * 64);
  EXPECT_EQ(stem.flops, 2.0 * 7 * 7 * 3 * 64 * 112 * 112);
  EXPECT_EQ(row(table, "stem/norm").parameters(), 2 * 64);
  EXPECT_EQ(row(table, "stem/norm").variables.size(), 4U);  // with the moving statistics
  EXPECT_EQ(row(table, "max_pool").output, (Shape{2, 56, 56, 64}));
  EXPECT_EQ(table.rows.back().path, "classifier");
  EXPECT_EQ(table.rows.back().parameters(), 512 * 1000 + 1000);
}

TEST(LayerTable, RowsAddUpToTheTotals) {
  const LayerTable table = layer_table(options_of("resnet18", 64, 3));
  std::int64_t parameters = 0;
  double flops = 0;
  for (const LayerRow& row : table.rows) {
    parameters += row.parameters();
    flops += row.flops;
  }
  EXPECT_EQ(parameters, table.trainable);
  EXPECT_NEAR(flops, table.forward_flops, 1e-9 * flops);
  EXPECT_EQ(table.trainable, 11'689'512);
  EXPECT_EQ(table.all, 11'689'512 + 2 * 4800);  // a mean and a variance for each normed channel
}

// He et al., 2015, table 1: 3.8e9 multiply-adds; the stride in the 3x3 makes that 4.1e9. The
// backward pass of a convolution is two of its size.
TEST(LayerTable, Resnet50TakesThePublishedWork) {
  const LayerTable table = layer_table(options_of("resnet50", 224, 8));
  EXPECT_NEAR(table.forward_flops, 2 * 4.089e9, 0.02 * table.forward_flops);
  EXPECT_NEAR(table.training_flops, 3 * table.forward_flops, 0.05 * table.training_flops);
}

}  // namespace
}  // namespace toroid
