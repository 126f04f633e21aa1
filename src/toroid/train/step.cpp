#include "toroid/train/step.h"

#include "toroid/base/error.h"
#include "toroid/models/model.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/normalize_images.h"
#include "toroid/ops/softmax_cross_entropy.h"
#include "toroid/ops/sum.h"
#include "toroid/passes/autodiff.h"
#include "toroid/passes/dead_code.h"
#include "toroid/passes/fusion.h"
#include "toroid/passes/gradient_fusion.h"
#include "toroid/passes/gradient_reduction.h"
#include "toroid/passes/mixed_precision.h"
#include "toroid/train/accumulation.h"
#include "toroid/train/step_update.h"
#include "toroid/train/weight_average.h"

namespace toroid {
namespace {

Graph optimized(Graph graph, const StepOptions& options) {
  graph = fuse_relu_gradients(fuse_batch_norm(remove_dead_code(graph)));
  if (options.bf16) graph = mixed_precision(graph);
  return start_collectives_early(graph);
}

// Without the training's collectives.
Graph inference(Graph graph, const StepOptions& options) {
  graph = fuse_batch_norm(remove_dead_code(graph));
  return options.bf16 ? mixed_precision(graph) : graph;
}

class StepBuilder {
 public:
  StepBuilder(const StepOptions& options, bool training, bool masked)
      : options_(options),
        builder_(Mesh{.data = options.replicas}),
        slots_(replica_batch(options.micro_batch(), options.replicas)),
        net_(builder_, net_options(training, masked)) {}

  Graph train();
  Graph accumulate();
  Graph evaluate();
  Graph predict();
  /// Of a training net.
  ModelVariables variables();

 private:
  Net::Options net_options(bool training, bool masked) {
    Net::Options net{
        .training = training,
        .dtype = options_.dtype,
        .partition = {options_.micro_batch(), options_.replicas, options_.batch_norm_batch},
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
      fail_usage("model {} on {} pictures of {}x{}x{}: {}", options_.model, options_.micro_batch(),
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

  // Sums over this replica's examples.
  MetricSums metrics(Value loss_sum, Value logits, Value labels) {
    const auto scope = builder_.scope("metrics");
    MetricSums sums{loss_sum, weighted_sum(in_top_k(builder_, logits, labels, 1)),
                    weighted_sum(in_top_k(builder_, logits, labels, 5))};
    if (net_.options().weights) sums.examples = sum(builder_, net_.options().weights);
    return sums;
  }

  MetricSums training_metrics();
  std::vector<Value> parameter_gradients(Value loss_sum);
  ModelVariables declared() const {
    ModelVariables model{.all = net_.variables(), .moving = moving_layers(net_)};
    // A group of all replicas left the same statistics on each.
    model.moving_shared = !model.moving.empty() && net_.groups().group_size == options_.replicas;
    return model;
  }

  const StepOptions& options_;
  Builder builder_;
  std::int64_t slots_;
  Net net_;
};

MetricSums StepBuilder::training_metrics() {
  const Value outputs = logits();
  Value loss_sum;
  {
    const auto scope = builder_.scope("loss");
    loss_sum =
        weighted_sum(softmax_cross_entropy(builder_, outputs, labels(), options_.label_smoothing));
  }
  return metrics(loss_sum, outputs, labels());
}

Graph StepBuilder::train() {
  const MetricSums local = training_metrics();
  StepSums sums{.metrics = reduce_metrics(builder_, options_, local)};
  sums.gradients = parameter_gradients(local.loss);
  sums.statistics = group_sums(net_);
  add_update(builder_, options_, declared(), sums);
  return optimized(builder_.finish(), options_);
}

Graph StepBuilder::accumulate() {
  StepSums sums{.metrics = training_metrics()};
  if (!sums.metrics.examples) {
    sums.metrics.examples = constant(builder_, static_cast<double>(slots_), options_.dtype);
  }
  sums.gradients = parameter_gradients(sums.metrics.loss);
  sums.statistics = group_sums(net_);
  toroid::accumulate(builder_, declared(), options_.dtype, sums);
  return optimized(builder_.finish(), options_);
}

std::vector<Value> StepBuilder::parameter_gradients(Value loss_sum) {
  std::vector<Value> parameters;
  std::vector<const Variable*> trained;
  for (std::size_t i = 0; i < net_.variables().size(); ++i) {
    if (!net_.variables()[i].trainable) continue;
    trained.push_back(&net_.variables()[i]);
    parameters.push_back(net_.values()[i]);
  }
  auto local = gradients(builder_, loss_sum, parameters);
  for (std::size_t i = 0; i < local.size(); ++i) {
    if (!local[i]) fail("model {}: {} does not reach the loss", options_.model, trained[i]->name);
  }
  return local;
}

Graph StepBuilder::evaluate() {
  const Value outputs = logits();
  const Value loss_sum = weighted_sum(softmax_cross_entropy(builder_, outputs, labels(), 0));
  output_metrics(builder_,
                 reduce_metrics(builder_, options_, metrics(loss_sum, outputs, labels())));
  builder_.output("logits", outputs, true);
  builder_.output("ids", builder_.input(InputKind::kBatch, "ids", {DType::u32, Shape{slots_}}),
                  true);
  return inference(builder_.finish(), options_);
}

Graph StepBuilder::predict() {
  builder_.output("logits", logits(), true);
  return inference(builder_.finish(), options_);
}

ModelVariables StepBuilder::variables() {
  logits();
  return declared();
}

// In the training form, so that options which no training graph can have are found early.
ModelVariables model_variables(const StepOptions& options) {
  return StepBuilder(options, true, false).variables();
}

}  // namespace

std::int64_t StepOptions::micro_batch() const {
  return (global_batch + accumulate - 1) / accumulate;
}

Graph build_train_graph(const StepOptions& options, bool masked) {
  return StepBuilder(options, true, masked).train();
}

Graph build_accumulate_graph(const StepOptions& options, bool masked) {
  return StepBuilder(options, true, masked).accumulate();
}

Graph build_apply_graph(const StepOptions& options) {
  const ModelVariables model = model_variables(options);
  Builder builder(Mesh{.data = options.replicas});
  StepSums sums = take_accumulated(builder, model, options.dtype);
  sums.metrics = reduce_metrics(builder, options, sums.metrics);
  add_update(builder, options, model, sums);
  return optimized(builder.finish(), options);
}

Graph build_evaluate_graph(const StepOptions& options) {
  const Graph graph = StepBuilder(options, false, true).evaluate();
  return options.ema > 0 ? read_averages(graph) : graph;
}

Graph build_predict_graph(const StepOptions& options) {
  const Graph graph = StepBuilder(options, false, false).predict();
  return options.ema > 0 ? read_averages(graph) : graph;
}

std::vector<Variable> step_variables(const StepOptions& options) {
  const std::vector<Variable> model = model_variables(options).all;
  std::vector<Variable> all = model;
  std::vector<std::string> trained;
  const auto optimizer = make_optimizer(options.optimizer);
  for (const Variable& variable : model) {
    if (!variable.trainable) continue;
    trained.push_back(variable.name);
    for (Variable& slot : optimizer->slots(variable)) all.push_back(std::move(slot));
  }
  check_multipliers(options.optimizer.multipliers, trained);
  if (options.ema > 0) {
    for (Variable& average : average_variables(model)) all.push_back(std::move(average));
  }
  return all;
}

std::vector<Variable> accumulation_variables(const StepOptions& options) {
  if (options.accumulate == 1) return {};
  return accumulators(model_variables(options), options.dtype);
}

}  // namespace toroid
