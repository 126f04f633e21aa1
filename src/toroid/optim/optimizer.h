// Optimizers: they add the update of each parameter to the graph, composed of elementwise ops.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "toroid/graph/builder.h"
#include "toroid/models/variable.h"

namespace toroid {

struct OptimizerOptions {
  std::string name = "sgd";  ///< sgd | adam
  double momentum = 0.9;     ///< sgd
  double beta1 = 0.9;        ///< adam
  double beta2 = 0.999;      ///< adam
  double epsilon = 1e-8;     ///< adam
  double weight_decay = 0;   ///< times the parameter, added to its gradient
  /// Parameters whose names match take no weight decay.
  std::vector<std::string> exclude{"*/bias", "*/gamma", "*/beta"};
};

/// The scalars of a step, in the parameters' dtype.
struct UpdateScalars {
  Value learning_rate;
  Value step;  ///< updates done before this one: 0 in the first
};

struct VariableUpdate {
  std::string variable;
  Value old_value;
  Value new_value;
};

class Optimizer {
 public:
  explicit Optimizer(OptimizerOptions options) : options_(std::move(options)) {}
  virtual ~Optimizer() = default;

  /// The optimizer's own variables for a parameter: optimizer/<slot>/<parameter>, zeros at start.
  virtual std::vector<Variable> slots(const Variable& parameter) const = 0;
  /// New values of the parameter and its slots. The gradient is complete: summed over replicas and
  /// divided by the global weight sum.
  std::vector<VariableUpdate> update(Builder& builder, const Variable& variable, Value parameter,
                                     Value gradient, const UpdateScalars& scalars) const;

 protected:
  virtual std::vector<VariableUpdate> apply(Builder& builder, const Variable& variable,
                                            Value parameter, Value gradient,
                                            const UpdateScalars& scalars) const = 0;
  const OptimizerOptions& options() const { return options_; }

 private:
  OptimizerOptions options_;
};

/// Error listing the known names when there is no such optimizer.
///
/// sgd, with the learning rate outside the momentum buffer, as PyTorch has it:
///   v = momentum v + (g + weight_decay w),  w = w - rate v
/// so that a change of the rate acts at once on the whole buffer. Without momentum there is no v.
///
/// adam (Kingma and Ba, 2015, algorithm 1), t = step + 1:
///   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2
///   w = w - rate (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options);

}  // namespace toroid
