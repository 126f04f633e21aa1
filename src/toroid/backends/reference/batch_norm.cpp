#include "toroid/ops/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "toroid/backends/reference/kernels.h"

namespace toroid::reference {
namespace {

// How x [N,...,C] divides into G groups of consecutive examples.
struct Layout {
  std::size_t elements, channels, per_example, per_group;

  Layout(const Shape& x, std::int64_t groups)
      : elements(static_cast<std::size_t>(x.elements())),
        channels(static_cast<std::size_t>(x.back())),
        per_example(elements / static_cast<std::size_t>(x[0])),
        per_group(elements / static_cast<std::size_t>(groups)) {}

  std::size_t example(std::size_t i) const { return i / per_example; }
  std::size_t channel(std::size_t i) const { return i % channels; }
  // Index into [G,C].
  std::size_t statistic(std::size_t i) const { return i / per_group * channels + channel(i); }
};

template <class T>
std::span<const T> optional_input(const KernelCall& call, int at) {
  return at < 0 ? std::span<const T>{} : call.input<T>(static_cast<std::size_t>(at));
}

// dy, or 0 where it comes through a relu that the forward pass closed: y <= 0.
template <class T>
double through_relu(bool relu, T dy, double xhat, std::span<const T> gamma, std::span<const T> beta,
                    std::size_t channel) {
  if (!relu) return static_cast<double>(dy);
  double y = xhat;
  if (!gamma.empty()) y *= gamma[channel];
  if (!beta.empty()) y += beta[channel];
  return y > 0 ? static_cast<double>(dy) : 0;
}

}  // namespace

void batch_norm_statistics(const KernelCall& call) {
  const std::int64_t groups = call.attributes<BatchNormStatistics>().groups;
  const Layout layout(call.shape(0), groups);
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = call.input<T>(0);
    const auto weights = optional_input<T>(call, call.inputs.size() > 1 ? 1 : -1);
    const auto weight = [&](std::size_t i) -> double {
      return weights.empty() ? 1 : weights[layout.example(i)];
    };
    const std::size_t statistics = static_cast<std::size_t>(groups) * layout.channels;
    std::vector<double> count(statistics), mean(statistics), moment(statistics);
    for (std::size_t i = 0; i < layout.elements; ++i) {
      count[layout.statistic(i)] += weight(i);
      mean[layout.statistic(i)] += weight(i) * x[i];
    }
    for (std::size_t s = 0; s < statistics; ++s) mean[s] = count[s] == 0 ? 0 : mean[s] / count[s];
    for (std::size_t i = 0; i < layout.elements; ++i) {
      const double centred = x[i] - mean[layout.statistic(i)];
      moment[layout.statistic(i)] += weight(i) * centred * centred;
    }
    store(count, call.output<T>(0));
    store(mean, call.output<T>(1));
    store(moment, call.output<T>(2));
  });
}

void batch_norm_apply(const KernelCall& call) {
  const auto& attributes = call.attributes<BatchNormApply>();
  const auto at = attributes.operands();
  const Layout layout(call.shape(0), call.shape(1)[0]);
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = call.input<T>(0), mean = call.input<T>(1), variance = call.input<T>(2);
    const auto gamma = optional_input<T>(call, at.gamma), beta = optional_input<T>(call, at.beta);
    const auto residual = optional_input<T>(call, at.residual);
    const auto y = call.output<T>();
    for (std::size_t i = 0; i < layout.elements; ++i) {
      const std::size_t s = layout.statistic(i), c = layout.channel(i);
      double value = (static_cast<double>(x[i]) - mean[s]) /
                     std::sqrt(static_cast<double>(variance[s]) + attributes.epsilon);
      if (attributes.gamma) value *= gamma[c];
      if (attributes.beta) value += beta[c];
      if (attributes.residual) value += residual[i];
      if (attributes.relu && value < 0) value = 0;
      y[i] = static_cast<T>(value);
    }
  });
}

void batch_norm_gradient_sums(const KernelCall& call) {
  const auto& attributes = call.attributes<BatchNormGradientSums>();
  const auto at = attributes.operands();
  const Layout layout(call.shape(0), call.shape(2)[0]);
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = call.input<T>(0), dy = call.input<T>(1);
    const auto mean = call.input<T>(2), variance = call.input<T>(3);
    const auto gamma = optional_input<T>(call, at.gamma), beta = optional_input<T>(call, at.beta);
    std::vector<double> sum_dy(mean.size()), sum_dy_xhat(mean.size());
    for (std::size_t i = 0; i < layout.elements; ++i) {
      const std::size_t s = layout.statistic(i);
      const double xhat = (static_cast<double>(x[i]) - mean[s]) /
                          std::sqrt(static_cast<double>(variance[s]) + attributes.epsilon);
      const double passed =
          through_relu<T>(attributes.relu, dy[i], xhat, gamma, beta, layout.channel(i));
      sum_dy[s] += passed;
      sum_dy_xhat[s] += passed * xhat;
    }
    store(sum_dy, call.output<T>(0));
    store(sum_dy_xhat, call.output<T>(1));
  });
}

void batch_norm_input_gradient(const KernelCall& call) {
  const auto& attributes = call.attributes<BatchNormInputGradient>();
  const auto at = attributes.operands();
  const Layout layout(call.shape(0), call.shape(2)[0]);
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = call.input<T>(0), dy = call.input<T>(1);
    const auto mean = call.input<T>(2), variance = call.input<T>(3);
    const auto gamma = optional_input<T>(call, at.gamma), beta = optional_input<T>(call, at.beta);
    const auto sum_dy = optional_input<T>(call, at.sums);
    const auto sum_dy_xhat = optional_input<T>(call, attributes.sums ? at.sums + 1 : -1);
    const auto count = optional_input<T>(call, attributes.sums ? at.sums + 2 : -1);
    const auto weights = optional_input<T>(call, at.weights);
    const auto dx = call.output<T>();
    for (std::size_t i = 0; i < layout.elements; ++i) {
      const std::size_t s = layout.statistic(i);
      const double deviation = std::sqrt(static_cast<double>(variance[s]) + attributes.epsilon);
      const double xhat = (static_cast<double>(x[i]) - mean[s]) / deviation;
      double value = through_relu<T>(attributes.relu, dy[i], xhat, gamma, beta, layout.channel(i));
      if (attributes.sums) {
        const double weight = attributes.weights ? weights[layout.example(i)] : 1;
        const double examples = std::max(static_cast<double>(count[s]), 1.0);
        value -= weight * (sum_dy[s] + xhat * sum_dy_xhat[s]) / examples;
      }
      if (attributes.gamma) value *= gamma[layout.channel(i)];
      dx[i] = static_cast<T>(value / deviation);
    }
  });
}

}  // namespace toroid::reference
