#include <gtest/gtest.h>

#include <cmath>

#include "toroid/base/testing.h"
#include "toroid/models/model.h"
#include "toroid/ops/normalize_images.h"

namespace toroid {
namespace {

struct Built {
  std::vector<Variable> variables;
  Shape logits;
};

struct Pictures {
  std::int64_t size = 224, channels = 3, classes = 1000;
  std::int64_t batch = 2;
  std::vector<std::int64_t> head;
};

Built build(const std::string& name, const Pictures& pictures) {
  const auto& [size, channels, classes, batch, head] = pictures;
  Builder builder;
  Net net(builder, {.partition = {.global_batch = batch, .batch_norm_batch = batch}, .head = head});
  const Value x =
      builder.input(InputKind::kState, "images", {DType::f32, Shape{batch, size, size, channels}});
  const Value logits = find_model(name).build(net, x, classes);
  builder.output("logits", logits);
  Built built{net.variables(), builder.type(logits).shape};
  builder.finish();
  return built;
}

std::int64_t trained(const Built& built) {
  std::int64_t count = 0;
  for (const Variable& v : built.variables) count += v.trainable ? v.type.elements() : 0;
  return count;
}

std::int64_t all(const Built& built) {
  std::int64_t count = 0;
  for (const Variable& v : built.variables) count += v.type.elements();
  return count;
}

std::int64_t smallest_size(std::string_view model) {
  if (model.starts_with("alexnet")) return 64;
  return model == "inception_v3" ? 75 : 28;
}

TEST(Models, EveryModelGivesOneRowOfLogitsPerPictureFromItsSmallestSizeOn) {
  for (const ModelInfo& model : models()) {
    for (const std::int64_t larger : {0, 1, 5, 36}) {
      const Pictures pictures{
          .size = smallest_size(model.name) + larger, .classes = 10, .batch = larger == 0 ? 1 : 7};
      EXPECT_EQ(build(std::string(model.name), pictures).logits, (Shape{pictures.batch, 10}))
          << model.name << " " << pictures.size;
    }
  }
}

TEST(Models, PicturesThatAreTooSmallAreRefusedInOneSentence) {
  EXPECT_ERROR(build("inception_v3", {.size = 74}), "the pictures must be 75x75 or larger");
  EXPECT_ERROR(build("alexnet", {.size = 63}), "the pictures must be 64x64 or larger");
}

// By hand. mlp: 784*256+256 + 256*256+256 + 256*10+10. cnn: 9*32+32 + 9*32*64+64 +
// 7*7*64*128+128 + 128*10+10.
TEST(Models, ParameterCountsAreThoseOfTheTables) {
  EXPECT_EQ(trained(build("mlp", {.size = 28, .channels = 1, .classes = 10})), 269322);
  EXPECT_EQ(trained(build("cnn", {.size = 28, .channels = 1, .classes = 10})), 421642);
}

// He et al., 2015, table 6: 0.27 M parameters for 20 layers on CIFAR-10. There the shortcuts carry
// no parameters; the two 1x1 projections and their norms add 16*32+2*32 + 32*64+2*64 here.
TEST(Models, Resnet20HasThePublishedNumberOfParameters) {
  EXPECT_EQ(trained(build("resnet20", {.size = 32, .classes = 10})) -
                (16 * 32 + 2 * 32 + 32 * 64 + 2 * 64),
            269722);
}

// torchvision's documentation gives them for its weights.
TEST(Models, ResidualNetworksHaveTorchvisionsNumbersOfParameters) {
  EXPECT_EQ(trained(build("resnet18", {})), 11'689'512);
  EXPECT_EQ(trained(build("resnet34", {})), 21'797'672);
  EXPECT_EQ(trained(build("resnet50", {})), 25'557'032);
  EXPECT_EQ(trained(build("resnet101", {})), 44'549'160);
  EXPECT_EQ(trained(build("resnet152", {})), 60'192'808);
}

// As Keras' summaries print them.
TEST(Models, PreActivationNetworksHaveKerasNumbersOfParameters) {
  EXPECT_EQ(trained(build("resnet50_v2", {})), 25'568'360);
  EXPECT_EQ(all(build("resnet50_v2", {})), 25'613'800);
  EXPECT_EQ(all(build("resnet101_v2", {})), 44'675'560);
  EXPECT_EQ(all(build("resnet152_v2", {})), 60'380'648);
}

// 21,802,784 without the head is what Keras prints with include_top=False; 23,851,784 with it.
TEST(Models, InceptionHasKerasNumbersOfParameters) {
  EXPECT_EQ(all(build("inception_v3", {.size = 299})), 23'851'784);
  EXPECT_EQ(trained(build("inception_v3", {.size = 299})), 23'817'352);
  EXPECT_EQ(all(build("inception_v3", {.size = 75, .classes = 1})) - (2048 + 1), 21'802'784);
}

// Diabetic retinopathy: Inception, dense 1024 with ReLU, dense 5.
TEST(Models, TheHeadStandsBetweenFeaturesAndClassifier) {
  EXPECT_EQ(all(build("inception_v3", {.size = 256, .classes = 5, .head = {1024}})),
            21'802'784 + (2048 * 1024 + 1024) + (1024 * 5 + 5));
}

// Caffe's bvlc_alexnet has 60,965,224. With batch norm, each of the 1376 filters' biases becomes a
// gamma and a beta.
TEST(Models, AlexNetHasThePublishedNumberOfParametersAtBothSizes) {
  EXPECT_EQ(trained(build("alexnet", {.size = 227})), 60'965'224);
  EXPECT_EQ(trained(build("alexnet", {.size = 224})), 60'965'224);
  EXPECT_EQ(trained(build("alexnet_bn", {.size = 227})), 60'965'224 + 1376);
}

TEST(Models, NamesHaveThePathOfTheirLayer) {
  const Built built = build("resnet8", {.size = 28, .head = {1024, 64}});
  EXPECT_EQ(built.variables.front().name, "stem/conv/kernel");
  std::vector<std::string> last;
  for (auto v = built.variables.end() - 6; v != built.variables.end(); ++v) last.push_back(v->name);
  EXPECT_EQ(last, (std::vector<std::string>{"head/dense1/kernel", "head/dense1/bias",
                                            "head/dense2/kernel", "head/dense2/bias",
                                            "classifier/kernel", "classifier/bias"}));
}

TEST(Models, UnknownNamesGetTheNearest) {
  EXPECT_ERROR(find_model("resnet9"), "unknown model \"resnet9\": did you mean \"resnet8\"?");
}

TEST(InitialValue, IsAFunctionOfNameAndSeedAndTheSameInEveryPrecision) {
  const Variable a{"a/kernel", {DType::f32, Shape{3, 3, 16, 32}}, Initializer::kHeNormalFanOut};
  Variable wide = a;
  wide.type.dtype = DType::f64;
  EXPECT_TRUE(initial_value(a, 1).identical(initial_value(wide, 1).converted(DType::f32)));
  EXPECT_FALSE(initial_value(a, 1).identical(initial_value(a, 2)));
  Variable other = a;
  other.name = "b/kernel";
  EXPECT_FALSE(initial_value(a, 1).identical(initial_value(other, 1)));
}

TEST(InitialValue, HeNormalHasTheVarianceOfItsFanOut) {
  const Variable kernel{"k", {DType::f64, Shape{3, 3, 16, 32}}, Initializer::kHeNormalFanOut};
  const Tensor value = initial_value(kernel, 1);
  double squares = 0;
  for (const double x : value.values<double>()) squares += x * x;
  EXPECT_NEAR(squares / static_cast<double>(value.elements()), 2.0 / (9 * 32), 0.0005);
}

}  // namespace
}  // namespace toroid
