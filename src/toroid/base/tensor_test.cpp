#include "toroid/base/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "toroid/base/testing.h"

namespace toroid {
namespace {

TEST(BFloat16, RoundsToNearestEvenAndKeepsNanAndInfinity) {
  EXPECT_EQ(BFloat16(1.0F).bits, 0x3f80);
  EXPECT_EQ(BFloat16(1.00390625F).bits, 0x3f80);  // halfway: to the even neighbour
  EXPECT_EQ(BFloat16(1.01171875F).bits, 0x3f82);  // halfway: to the even neighbour
  EXPECT_EQ(BFloat16(-3.4e38F).bits, 0xff80);     // beyond the largest: infinity
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(std::nanf("")))));
  EXPECT_EQ(static_cast<float>(BFloat16(std::numeric_limits<float>::infinity())),
            std::numeric_limits<float>::infinity());
}

TEST(Tensor, IsZeroedAlignedAndCopiedByValue) {
  Tensor a(DType::f32, Shape{3, 5});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.raw()) % Tensor::kAlignment, 0U);
  for (const float x : a.values<float>()) EXPECT_EQ(x, 0.0F);
  Tensor b = a;
  b.values<float>()[0] = 1;
  EXPECT_EQ(a.values<float>()[0], 0.0F);
  EXPECT_FALSE(a.identical(b));
}

TEST(Tensor, ReadingTheWrongTypeIsAnError) {
  const Tensor a(DType::f32, Shape{2});
  EXPECT_ERROR(a.values<double>(), "tensor of type f32[2] read as f64");
  EXPECT_ERROR(Tensor::of<float>(Shape{3}, {1.0F}), "1 elements given for a tensor of type f32[3]");
  EXPECT_ERROR(a.item(), "1 elements given for a tensor of type f32[2]");
}

TEST(Tensor, ConvertsBetweenTypes) {
  const Tensor a = Tensor::of<double>(Shape{2}, {1.5, -2.75});
  EXPECT_TRUE(a.converted(DType::f32).identical(Tensor::of<float>(Shape{2}, {1.5F, -2.75F})));
  EXPECT_TRUE(a.converted(DType::i32).identical(Tensor::of<std::int32_t>(Shape{2}, {1, -2})));
  EXPECT_EQ(Tensor::scalar<std::uint8_t>(200).item(), 200.0);
}

TEST(Shape, PrintsAndCounts) {
  EXPECT_EQ((Shape{2, 3, 4}).elements(), 24);
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ((Shape{2, 0}).elements(), 0);
  EXPECT_EQ((TensorType{DType::bf16, Shape{2, 3}}).str(), "bf16[2,3]");
}

}  // namespace
}  // namespace toroid
