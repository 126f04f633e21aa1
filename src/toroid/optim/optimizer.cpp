#include "toroid/optim/optimizer.h"

#include <array>
#include <cmath>
#include <string_view>

#include "toroid/base/nearest.h"
#include "toroid/base/pattern.h"
#include "toroid/ops/elementwise.h"

namespace toroid {
namespace {

Variable slot(std::string_view kind, const Variable& parameter) {
  return {"optimizer/" + std::string(kind) + "/" + parameter.name, parameter.type,
          Initializer::kZeros, false};
}

Value read(Builder& builder, const Variable& variable) {
  return builder.input(InputKind::kState, variable.name, variable.type);
}

class Sgd final : public Optimizer {
 public:
  using Optimizer::Optimizer;

  std::vector<Variable> slots(const Variable& parameter) const override {
    if (options().momentum == 0) return {};
    return {slot("momentum", parameter)};
  }

 protected:
  std::vector<VariableUpdate> apply(Builder& builder, const Variable& variable, Value parameter,
                                    Value gradient, const UpdateScalars& scalars) const override {
    std::vector<VariableUpdate> updates;
    Value direction = gradient;
    for (const Variable& buffer : slots(variable)) {
      const Value velocity = read(builder, buffer);
      direction = add(builder, multiply(builder, velocity, options().momentum), gradient);
      updates.push_back({buffer.name, velocity, direction});
    }
    const Value moved =
        subtract(builder, parameter, multiply(builder, direction, scalars.learning_rate));
    updates.push_back({variable.name, parameter, moved});
    return updates;
  }
};

class Adam final : public Optimizer {
 public:
  using Optimizer::Optimizer;

  std::vector<Variable> slots(const Variable& parameter) const override {
    return {slot("adam_mean", parameter), slot("adam_variance", parameter)};
  }

 protected:
  std::vector<VariableUpdate> apply(Builder& builder, const Variable& variable, Value parameter,
                                    Value gradient, const UpdateScalars& scalars) const override {
    const auto buffers = slots(variable);
    const Value old_mean = read(builder, buffers[0]);
    const Value old_variance = read(builder, buffers[1]);
    const Value mean = average(builder, old_mean, gradient, options().beta1);
    const Value variance =
        average(builder, old_variance, multiply(builder, gradient, gradient), options().beta2);
    const Value m = divide(builder, mean, correction(builder, scalars.step, options().beta1));
    const Value v = divide(builder, variance, correction(builder, scalars.step, options().beta2));
    const Value ratio = divide(builder, m, add(builder, sqrt(builder, v), options().epsilon));
    const Value moved =
        subtract(builder, parameter, multiply(builder, ratio, scalars.learning_rate));
    return {{buffers[0].name, old_mean, mean},
            {buffers[1].name, old_variance, variance},
            {variable.name, parameter, moved}};
  }

 private:
  static Value average(Builder& builder, Value old, Value fresh, double beta) {
    return add(builder, multiply(builder, old, beta), multiply(builder, fresh, 1 - beta));
  }

  // 1 - beta^(step + 1) = -expm1((step + 1) log beta), which keeps its digits for beta near 1.
  static Value correction(Builder& builder, Value step, double beta) {
    const Value t = add(builder, step, 1.0);
    return negate(builder, expm1(builder, multiply(builder, t, std::log(beta))));
  }
};

}  // namespace

std::vector<VariableUpdate> Optimizer::update(Builder& builder, const Variable& variable,
                                              Value parameter, Value gradient,
                                              const UpdateScalars& scalars) const {
  const auto scope = builder.scope("update/" + variable.name);
  if (options_.weight_decay != 0 && !matches_any(options_.exclude, variable.name)) {
    gradient = add(builder, gradient, multiply(builder, parameter, options_.weight_decay));
  }
  return apply(builder, variable, parameter, gradient, scalars);
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options) {
  static constexpr std::array<std::string_view, 2> kNames{"sgd", "adam"};
  if (options.name == "sgd") return std::make_unique<Sgd>(options);
  if (options.name == "adam") return std::make_unique<Adam>(options);
  fail_unknown("optimizer", options.name, kNames);
}

}  // namespace toroid
