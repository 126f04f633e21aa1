// Layers: what model functions are written in. A layer declares its variables under the current
// path and adds its ops; the same model function serves training, evaluation and prediction.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "toroid/graph/builder.h"
#include "toroid/models/batch_norm_groups.h"
#include "toroid/models/variable.h"
#include "toroid/ops/avg_pool.h"
#include "toroid/ops/conv2d.h"
#include "toroid/ops/local_response_norm.h"
#include "toroid/ops/max_pool.h"

namespace toroid {

/// What batch normalization adds to a layer.
struct BatchNormOptions {
  double epsilon = 1e-5;
  double momentum =
      0.9;  ///< of the moving statistics: moving = momentum * moving + (1 - m) * batch
  bool gamma = true;
  bool beta = true;
  bool zero_gamma = false;  ///< start gamma at 0, so that a residual block starts as the identity
};

/// One batch norm's statistics of this batch, for the moving averages; each [G,C].
struct BatchStatistics {
  std::string path;  ///< of the layer; variables path/moving_mean and path/moving_variance
  double momentum;
  Value count, mean, variance;
};

struct ConvOptions {
  std::int64_t filters = 0;
  std::array<std::int64_t, 2> kernel{3, 3};
  std::array<std::int64_t, 2> stride{1, 1};
  std::optional<Padding> padding;  ///< default: TensorFlow's SAME
  bool bias = false;               ///< off where batch norm follows
  std::int64_t groups = 1;         ///< of channels and filters; see ops/conv2d.h
};

class Net {
 public:
  struct Options {
    bool training = false;     ///< batch statistics, and their record for the moving averages
    DType dtype = DType::f32;  ///< of variables and arithmetic
    Value weights;             ///< [N] of `dtype`, 0 for padding; "no value" when all are real
    BatchPartition partition;  ///< of the global batch; read by batch norm in training
    bool zero_init_last_gamma = false;
    std::vector<std::int64_t> head;  ///< widths of the layers that classify() puts first
  };

  Net(Builder& builder, Options options) : builder_(builder), options_(std::move(options)) {}

  Builder& builder() { return builder_; }
  const Options& options() const { return options_; }
  const Shape& shape(Value value) const { return builder_.type(value).shape; }

  /// kernel [kh,kw,C/groups,filters] (He normal), bias [filters] (zeros).
  Value conv(std::string_view name, Value x, const ConvOptions& options);
  /// x [N,inputs] -> [N,units]: kernel [inputs,units], bias [units].
  Value dense(std::string_view name, Value x, std::int64_t units);
  /// features [N,F] -> logits [N,classes]: dense layers with ReLU head/dense1, head/dense2, ... of
  /// the widths in Options::head, then the dense layer classifier.
  Value classify(Value features, std::int64_t classes);
  /// gamma, beta [C]; moving_mean, moving_variance [C], which are not trained.
  Value batch_norm(std::string_view name, Value x, const BatchNormOptions& options = {});
  Value relu(Value x);
  Value add(Value a, Value b);
  Value max_pool(Value x, const MaxPool& options);
  Value avg_pool(Value x, const AvgPool& options);
  Value global_average_pool(Value x);
  /// Along the channels (the last axis).
  Value concat(std::vector<Value> values);
  Value local_response_norm(Value x, const LocalResponseNorm& options = {});
  /// In training, drops a share `rate` of the elements of x [N,...] and scales the others up; x
  /// itself otherwise. The draws are a function of the graph's inputs seed and step, of this
  /// layer's path, and of each example's id: Random(seed, path, step, id) (ops/dropout.h).
  Value dropout(std::string_view name, Value x, double rate);
  /// [N,...] -> [N, product of the rest].
  Value flatten(Value x);

  /// Error where x [N,H,W,C] has fewer pixels in a row or column: what a network needs.
  void require_size(Value x, std::int64_t pixels) const;

  [[nodiscard]] Builder::Scope scope(std::string_view name) { return builder_.scope(name); }

  /// All variables declared so far, in order.
  const std::vector<Variable>& variables() const { return variables_; }
  /// The graph input of each variable, in the same order.
  const std::vector<Value>& values() const { return values_; }
  /// The groups of all batch norms. Error where batch_norm_batch does not tile the global batch.
  BatchNormGroups groups() const { return batch_norm_groups(options_.partition); }
  /// One entry per batch norm, in training.
  const std::vector<BatchStatistics>& statistics() const { return statistics_; }

 private:
  Value variable(std::string_view name, Shape shape, Initializer initializer,
                 bool trainable = true);

  Builder& builder_;
  Options options_;
  std::vector<Variable> variables_;
  std::vector<Value> values_;
  std::vector<BatchStatistics> statistics_;
};

}  // namespace toroid
