// The end of a step by value: a single parameter [2] whose gradient sum is given.
#include "toroid/train/step_update.h"

#include <gtest/gtest.h>

#include <cmath>

#include "toroid/backends/reference/reference.h"
#include "toroid/comm/self.h"
#include "toroid/train/weight_average.h"

namespace toroid {
namespace {

class UpdateOfOneParameter : public testing::Test {
 protected:
  UpdateOfOneParameter() {
    options_.dtype = DType::f64;
    options_.global_batch = 4;
    options_.optimizer = {.name = "sgd", .momentum = 0};
  }

  void compile() {
    const TensorType pair{DType::f64, Shape{2}}, scalar{DType::f64, Shape{}};
    const ModelVariables model{.all = {{"layer/kernel", pair}}};
    Builder builder;
    const auto input = [&](const char* name, const TensorType& type) {
      return builder.input(InputKind::kState, name, type);
    };
    const Value loss = input("loss", scalar);
    const MetricSums metrics =
        reduce_metrics(builder, options_, {.loss = loss, .top1 = loss, .top5 = loss});
    add_update(builder, options_, model,
               {.metrics = metrics, .gradients = {input("gradient", pair)}});
    const Graph graph = builder.finish();
    state_ = backend_->create_state(state_schema(graph));
    step_ = backend_->compile(graph);
  }
  // One step with a sum of gradients over the 4 examples.
  Outputs step(double a, double b, double rate, std::int64_t count = 0) {
    write("gradient", a, b);
    return step_->run(*state_, {}, {.learning_rate = rate, .step = count});
  }
  void write(const std::string& name, double a, double b) {
    state_->write(name, Tensor::of<double>({2}, {a, b}));
  }
  void expect(const std::string& name, double a, double b) const {
    const Tensor found = state_->read(name);
    EXPECT_NEAR(found.values<double>()[0], a, 1e-15) << name;
    EXPECT_NEAR(found.values<double>()[1], b, 1e-15) << name;
  }

  StepOptions options_;
  SelfCommunicator communicator_;
  std::unique_ptr<Backend> backend_ = make_reference_backend(communicator_);
  std::unique_ptr<State> state_;
  std::unique_ptr<Executable> step_;
};

// The mean gradient of (12, 16) over 4 examples is (3, 4), of norm 5.
TEST_F(UpdateOfOneParameter, ClippingScalesTheMeanGradientToTheNormAndReportsThatOfBefore) {
  options_.clip_norm = 0.5;
  compile();
  EXPECT_NEAR(step(12, 16, 1).at("gradient_norm").item(), 5, 1e-14);
  expect("layer/kernel", -0.3, -0.4);
}

TEST_F(UpdateOfOneParameter, AGradientShorterThanTheClipNormStaysAsItIs) {
  options_.clip_norm = 5.5;
  compile();
  step(12, 16, 1);
  expect("layer/kernel", -3, -4);
}

TEST_F(UpdateOfOneParameter, AnInfiniteGradientIsNotClippedButSkipped) {
  options_.clip_norm = 1;
  options_.ema = 0.5;
  compile();
  write("layer/kernel", 1, 2);
  write("ema/layer/kernel", 3, 4);
  EXPECT_EQ(step(INFINITY, 0, 1).at("finite").item(), 0);
  expect("layer/kernel", 1, 2);
  expect("ema/layer/kernel", 3, 4);
}

// Shares of the new weights: 9/10 at step 0, 9/11 at step 1, and 1 - 0.5 from step 8 on.
TEST_F(UpdateOfOneParameter, TheAverageFollowsTheNewWeightsFastAtFirst) {
  options_.ema = 0.5;
  compile();
  write("layer/kernel", 1, 2);
  write("ema/layer/kernel", 1, 2);
  step(4, -4, 1, 0);
  expect("layer/kernel", 0, 3);
  expect("ema/layer/kernel", 1 - 0.9, 2 + 0.9);
  step(0, 4, 1, 1);
  expect("ema/layer/kernel", 0.1 - 0.1 * 9 / 11, 2.9 - 0.9 * 9 / 11);
  write("ema/layer/kernel", 1, 1);
  step(0, 0, 1, 100);
  expect("ema/layer/kernel", 0.5, 1.5);
}

TEST(WeightAverage, GraphsOfEvaluationReadItInTheVariablesPlace) {
  StepOptions options{.model = "resnet8",
                      .classes = 3,
                      .image_height = 8,
                      .image_width = 8,
                      .channels = 1,
                      .global_batch = 2,
                      .batch_norm_batch = 2};
  options.ema = 0.99;
  for (const Graph& graph : {build_evaluate_graph(options), build_predict_graph(options)}) {
    int moving = 0;
    for (const StateVariable& variable : state_schema(graph)) {
      EXPECT_TRUE(is_average(variable.name)) << variable.name;
      moving += variable.name.ends_with("/moving_mean");
    }
    EXPECT_EQ(moving, 9) << "moving statistics are averaged too";
  }
}

}  // namespace
}  // namespace toroid
