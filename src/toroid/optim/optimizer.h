// Optimizers: they add the update of each parameter to the graph, composed of elementwise ops.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "toroid/graph/builder.h"
#include "toroid/models/variable.h"

namespace toroid {

struct OptimizerOptions {
  std::string name = "sgd";  ///< sgd | adam | adamw
  double momentum = 0.9;     ///< sgd
  bool nesterov = false;     ///< sgd
  double beta1 = 0.9;        ///< adam, adamw
  double beta2 = 0.999;      ///< adam, adamw
  double epsilon = 1e-8;     ///< adam, adamw
  /// sgd and adam: times the parameter, added to its gradient (an L2 penalty). adamw: times the
  /// learning rate and the parameter, subtracted from the parameter.
  double weight_decay = 0;
  /// Parameters whose names match take no weight decay.
  std::vector<std::string> exclude{"*/bias", "*/gamma", "*/beta"};
  /// Factors of the learning rate by name pattern; see learning_rate_multiplier.
  std::map<std::string, double> multipliers;
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

/// The factor of a parameter's learning rate: that of the pattern that matches its name and has the
/// most characters other than `*` and `?`; 1 where none matches. Error (exit status 2) naming both
/// patterns when two have equally many.
double learning_rate_multiplier(const std::map<std::string, double>& multipliers,
                                const std::string& parameter);

/// Error (exit status 2) naming a pattern of `multipliers` that matches none of the parameters, or
/// two that are equally specific.
void check_multipliers(const std::map<std::string, double>& multipliers,
                       std::span<const std::string> parameters);

class Optimizer {
 public:
  /// `decoupled`: weight decay bypasses the gradient and its moments.
  Optimizer(OptimizerOptions options, bool decoupled)
      : options_(std::move(options)), decoupled_(decoupled) {}
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
  bool decoupled_;
};

/// Error listing the known names when there is no such optimizer.
///
/// g is the gradient, rate the learning rate times the parameter's multiplier, t = step + 1.
///
/// sgd, with the learning rate outside the momentum buffer, as PyTorch has it:
///   v = momentum v + (g + weight_decay w),  w = w - rate v
/// so that a change of the rate acts at once on the whole buffer. Without momentum there is no v.
/// nesterov (Sutskever et al., 2013, in PyTorch's form, where w is the point looked ahead to):
///   w = w - rate (g + weight_decay w + momentum v), with the new v
///
/// adam (Kingma and Ba, 2015, algorithm 1); weight_decay w is added to g:
///   m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2
///   w = w - rate (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
///
/// adamw (Loshchilov and Hutter, 2019, algorithm 2, whose schedule multiplier is the rate here, as
/// in PyTorch: a decay of 0.01 at a rate of 0.001 takes 1e-5 of the weight):
///   w = w - rate (adam's ratio without weight decay in g + weight_decay w)
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options);

}  // namespace toroid
