#include "toroid/train/step.h"

#include "toroid/base/error.h"
#include "toroid/models/model.h"
#include "toroid/ops/collectives.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/normalize_images.h"
#include "toroid/ops/softmax_cross_entropy.h"
#include "toroid/ops/sum.h"
#include "toroid/passes/autodiff.h"
#include "toroid/passes/dead_code.h"
#include "toroid/passes/fusion.h"
#include "toroid/passes/gradient_reduction.h"
#include "toroid/train/moving_statistics.h"

namespace toroid {
namespace {

constexpr std::int64_t kBucketBytes = 16 << 20;

class StepBuilder {
 public:
  StepBuilder(const StepOptions& options, bool training, bool masked)
      : options_(options),
        builder_(Mesh{.data = options.replicas}),
        slots_(replica_batch(options.global_batch, options.replicas)),
        net_(builder_, net_options(training, masked)) {}

  Graph train();
  Graph evaluate();
  Graph predict();
  std::vector<Variable> variables();

 private:
  Net::Options net_options(bool training, bool masked) {
    Net::Options net{
        .training = training,
        .dtype = options_.dtype,
        .partition = {options_.global_batch, options_.replicas, options_.batch_norm_batch},
        .zero_init_last_gamma = options_.zero_init_last_gamma,
        .head = options_.head};
    if (masked) {
      const Value weights =
          builder_.input(InputKind::kBatch, "weights", {DType::f32, Shape{slots_}});
      net.weights = convert(builder_, weights, options_.dtype);
    }
    return net;
  }

  Value logits() {
    const Value images = builder_.input(
        InputKind::kBatch, "images",
        {DType::u8, Shape{slots_, options_.image_height, options_.image_width, options_.channels}});
    // Pixels to [-1, 1].
    const std::vector<double> mean(static_cast<std::size_t>(options_.channels), 127.5);
    const std::vector<double> scale(mean.size(), 1 / 127.5);
    const Value x =
        normalize_images(builder_, images, {.mean = mean, .scale = scale, .dtype = options_.dtype});
    const ModelInfo& model = find_model(options_.model);
    try {
      return model.build(net_, x, options_.classes);
    } catch (const Error& error) {
      fail_usage("model {} on {} pictures of {}x{}x{}: {}", options_.model, options_.global_batch,
                 options_.image_height, options_.image_width, options_.channels, error.what());
    }
  }

  Value labels() {
    return builder_.input(InputKind::kBatch, "labels", {DType::i32, Shape{slots_}});
  }

  // The sum over this replica's real examples.
  Value weighted_sum(Value per_example) {
    const Value weights = net_.options().weights;
    return sum(builder_, weights ? multiply(builder_, per_example, weights) : per_example);
  }

  // Sums over all replicas: loss, top-1, top-5, weights. One small bucket.
  struct Metrics {
    Value loss_sum, top1, top5, examples;
  };
  Metrics reduce_metrics(Value loss_sum, Value logits, Value labels) {
    const auto scope = builder_.scope("metrics");
    std::vector<Value> sums{loss_sum, weighted_sum(in_top_k(builder_, logits, labels, 1)),
                            weighted_sum(in_top_k(builder_, logits, labels, 5))};
    if (net_.options().weights) sums.push_back(sum(builder_, net_.options().weights));
    auto total = all_reduce(builder_, std::move(sums), options_.replicas);
    if (total.size() == 3) {
      total.push_back(
          constant(builder_, static_cast<double>(slots_ * options_.replicas), options_.dtype));
    }
    return {total[0], total[1], total[2], total[3]};
  }

  void output_metrics(const Metrics& metrics) {
    builder_.output("loss_sum", metrics.loss_sum);
    builder_.output("top1", metrics.top1);
    builder_.output("top5", metrics.top5);
    builder_.output("examples", metrics.examples);
  }

  std::vector<Value> parameter_gradients(Value loss_sum, const Metrics& metrics);
  void update(const std::vector<Value>& gradients, Value finite);

  const StepOptions& options_;
  Builder builder_;
  std::int64_t slots_;
  Net net_;
};

Graph StepBuilder::train() {
  const Value outputs = logits();
  Value loss_sum;
  {
    const auto scope = builder_.scope("loss");
    loss_sum =
        weighted_sum(softmax_cross_entropy(builder_, outputs, labels(), options_.label_smoothing));
  }
  const Metrics metrics = reduce_metrics(loss_sum, outputs, labels());
  const auto gradients = parameter_gradients(loss_sum, metrics);
  const Value squares = sum_squares(builder_, gradients);
  // One predicate for loss and gradient: a sum of both is finite only when each is.
  const Value finite = is_finite(builder_, add(builder_, squares, metrics.loss_sum));
  update(gradients, finite);
  output_metrics(metrics);
  builder_.output("gradient_norm", sqrt(builder_, squares));
  builder_.output("finite", finite);
  Graph graph = remove_dead_code(builder_.finish());
  return start_collectives_early(fuse_batch_norm(graph));
}

std::vector<Value> StepBuilder::parameter_gradients(Value loss_sum, const Metrics& metrics) {
  std::vector<Value> parameters;
  std::vector<const Variable*> trained;
  for (std::size_t i = 0; i < net_.variables().size(); ++i) {
    if (!net_.variables()[i].trainable) continue;
    trained.push_back(&net_.variables()[i]);
    parameters.push_back(net_.values()[i]);
  }
  const auto local = gradients(builder_, loss_sum, parameters);
  for (std::size_t i = 0; i < local.size(); ++i) {
    if (!local[i]) fail("model {}: {} does not reach the loss", options_.model, trained[i]->name);
  }
  auto total = reduce_gradients(builder_, local, kBucketBytes);
  const auto scope = builder_.scope("mean_gradient");
  for (Value& gradient : total) gradient = divide(builder_, gradient, metrics.examples);
  return total;
}

void StepBuilder::update(const std::vector<Value>& gradients, Value finite) {
  const auto scalar = [&](const char* name, DType dtype) {
    const Value input = builder_.input(InputKind::kScalar, name, {dtype, Shape{}});
    return convert(builder_, input, options_.dtype);
  };
  const auto optimizer = make_optimizer(options_.optimizer);
  const UpdateScalars scalars{scalar("learning_rate", options_.dtype), scalar("step", DType::i32)};
  std::vector<VariableUpdate> updates =
      moving_statistics(net_, static_cast<int>(options_.replicas));
  std::size_t next = 0;
  for (std::size_t i = 0; i < net_.variables().size(); ++i) {
    const Variable& variable = net_.variables()[i];
    if (!variable.trainable) continue;
    for (auto& update :
         optimizer->update(builder_, variable, net_.values()[i], gradients[next++], scalars)) {
      updates.push_back(std::move(update));
    }
  }
  const auto scope = builder_.scope("keep_finite");
  for (const VariableUpdate& update : updates) {
    builder_.update(update.variable, select(builder_, finite, update.new_value, update.old_value));
  }
}

Graph StepBuilder::evaluate() {
  const Value outputs = logits();
  const Value loss_sum = weighted_sum(softmax_cross_entropy(builder_, outputs, labels(), 0));
  output_metrics(reduce_metrics(loss_sum, outputs, labels()));
  builder_.output("logits", outputs, true);
  builder_.output("ids", builder_.input(InputKind::kBatch, "ids", {DType::u32, Shape{slots_}}),
                  true);
  return fuse_batch_norm(remove_dead_code(builder_.finish()));
}

Graph StepBuilder::predict() {
  builder_.output("logits", logits(), true);
  return fuse_batch_norm(remove_dead_code(builder_.finish()));
}

std::vector<Variable> StepBuilder::variables() {
  logits();
  std::vector<Variable> all = net_.variables();
  const auto optimizer = make_optimizer(options_.optimizer);
  for (const Variable& variable : net_.variables()) {
    if (!variable.trainable) continue;
    for (Variable& slot : optimizer->slots(variable)) all.push_back(std::move(slot));
  }
  return all;
}

}  // namespace

Graph build_train_graph(const StepOptions& options, bool masked) {
  return StepBuilder(options, true, masked).train();
}

Graph build_evaluate_graph(const StepOptions& options) {
  return StepBuilder(options, false, true).evaluate();
}

Graph build_predict_graph(const StepOptions& options) {
  return StepBuilder(options, false, false).predict();
}

std::vector<Variable> step_variables(const StepOptions& options) {
  // In the training form, so that options which no training graph can have are found here, early.
  return StepBuilder(options, true, false).variables();
}

}  // namespace toroid
