#include "toroid/optim/optimizer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "toroid/base/error.h"
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
  explicit Sgd(const OptimizerOptions& options) : Optimizer(options, false) {
    if (options.nesterov && options.momentum == 0) {
      fail_usage("optimizer.nesterov = true needs momentum; set optimizer.momentum above 0");
    }
  }

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
      const Value moved_on =
          add(builder, multiply(builder, velocity, options().momentum), gradient);
      updates.push_back({buffer.name, velocity, moved_on});
      direction = options().nesterov
                      ? add(builder, gradient, multiply(builder, moved_on, options().momentum))
                      : moved_on;
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

// How specific a pattern is: its characters other than wildcards.
std::ptrdiff_t literal_characters(const std::string& pattern) {
  return std::count_if(pattern.begin(), pattern.end(), [](char c) { return c != '*' && c != '?'; });
}

}  // namespace

double learning_rate_multiplier(const std::map<std::string, double>& multipliers,
                                const std::string& parameter) {
  std::ptrdiff_t most = -1;
  std::vector<std::string> best;  // patterns with that many characters
  for (const auto& [pattern, factor] : multipliers) {
    const std::ptrdiff_t count = literal_characters(pattern);
    if (!matches(pattern, parameter) || count < most) continue;
    if (count > most) best.clear();
    most = count;
    best.push_back(pattern);
  }
  if (best.size() > 1) {
    fail_usage(
        "optimizer.multipliers: \"{}\" and \"{}\" both match {} and neither is more specific; "
        "leave "
        "one out, or name the parameter in full",
        best[0], best[1], parameter);
  }
  return best.empty() ? 1 : multipliers.at(best[0]);
}

void check_multipliers(const std::map<std::string, double>& multipliers,
                       std::span<const std::string> parameters) {
  for (const auto& entry : multipliers) {
    const std::string& pattern = entry.first;
    const bool used = std::any_of(parameters.begin(), parameters.end(),
                                  [&](const std::string& name) { return matches(pattern, name); });
    if (!used) {
      fail_usage("optimizer.multipliers: \"{}\" matches no parameter; the model's begin with {}",
                 pattern, parameters.empty() ? "nothing" : parameters.front());
    }
  }
  for (const std::string& name : parameters) learning_rate_multiplier(multipliers, name);
}

std::vector<VariableUpdate> Optimizer::update(Builder& builder, const Variable& variable,
                                              Value parameter, Value gradient,
                                              const UpdateScalars& scalars) const {
  const auto scope = builder.scope("update/" + variable.name);
  UpdateScalars own = scalars;
  const double multiplier = learning_rate_multiplier(options_.multipliers, variable.name);
  if (multiplier != 1) own.learning_rate = multiply(builder, own.learning_rate, multiplier);
  if (options_.weight_decay == 0 || matches_any(options_.exclude, variable.name)) {
    return apply(builder, variable, parameter, gradient, own);
  }
  const Value decay = multiply(builder, parameter, options_.weight_decay);
  if (!decoupled_) return apply(builder, variable, parameter, add(builder, gradient, decay), own);
  auto updates = apply(builder, variable, parameter, gradient, own);
  for (VariableUpdate& update : updates) {
    if (update.variable != variable.name) continue;
    update.new_value =
        subtract(builder, update.new_value, multiply(builder, decay, own.learning_rate));
  }
  return updates;
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options) {
  static constexpr std::array<std::string_view, 3> kNames{"sgd", "adam", "adamw"};
  if (options.name == "sgd") return std::make_unique<Sgd>(options);
  if (options.name == "adam") return std::make_unique<Adam>(options, false);
  if (options.name == "adamw") return std::make_unique<Adam>(options, true);
  fail_unknown("optimizer", options.name, kNames);
}

}  // namespace toroid
