#include "toroid/ops/softmax_cross_entropy.h"

#include <algorithm>
#include <cmath>

#include "toroid/backends/reference/kernels.h"

namespace toroid::reference {
namespace {

std::size_t label_of(const KernelCall& call, std::size_t example) {
  const std::int32_t label = call.input<std::int32_t>(1)[example];
  const std::int64_t classes = call.shape(0)[1];
  if (label < 0 || label >= classes) {
    fail("the label of example {} must be in 0..{}, is {}", example, classes - 1, label);
  }
  return static_cast<std::size_t>(label);
}

// log softmax of one example's logits.
template <class T>
std::vector<double> log_softmax(std::span<const T> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double z : logits) sum += std::exp(z - largest);
  std::vector<double> result;
  for (const double z : logits) result.push_back(z - largest - std::log(sum));
  return result;
}

double target(std::size_t k, std::size_t label, std::size_t classes, double smoothing) {
  return (k == label ? 1 - smoothing : 0) + smoothing / static_cast<double>(classes);
}

}  // namespace

void softmax_cross_entropy(const KernelCall& call) {
  const double smoothing = call.attributes<SoftmaxCrossEntropy>().label_smoothing;
  const auto classes = static_cast<std::size_t>(call.shape(0)[1]);
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto loss = call.output<T>();
    for (std::size_t n = 0; n < loss.size(); ++n) {
      const auto log_p = log_softmax(call.input<T>(0).subspan(n * classes, classes));
      const std::size_t label = label_of(call, n);
      double sum = 0;
      for (std::size_t k = 0; k < classes; ++k) {
        const double t = target(k, label, classes, smoothing);
        if (t > 0) sum -= t * log_p[k];  // 0 log 0 is 0
      }
      loss[n] = static_cast<T>(sum);
    }
  });
}

void softmax_cross_entropy_gradient(const KernelCall& call) {
  const double smoothing = call.attributes<SoftmaxCrossEntropyGradient>().label_smoothing;
  const auto classes = static_cast<std::size_t>(call.shape(0)[1]);
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto dloss = call.input<T>(2);
    const auto dlogits = call.output<T>();
    for (std::size_t n = 0; n < dloss.size(); ++n) {
      const auto log_p = log_softmax(call.input<T>(0).subspan(n * classes, classes));
      const std::size_t label = label_of(call, n);
      for (std::size_t k = 0; k < classes; ++k) {
        dlogits[n * classes + k] =
            static_cast<T>(dloss[n] * (std::exp(log_p[k]) - target(k, label, classes, smoothing)));
      }
    }
  });
}

void in_top_k(const KernelCall& call) {
  const std::int64_t wanted = call.attributes<InTopK>().k;
  const auto classes = static_cast<std::size_t>(call.shape(0)[1]);
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto right = call.output<T>();
    for (std::size_t n = 0; n < right.size(); ++n) {
      const auto logits = call.input<T>(0).subspan(n * classes, classes);
      const std::size_t label = label_of(call, n);
      std::int64_t before = 0;
      for (std::size_t k = 0; k < classes; ++k) {
        if (k == label) continue;
        before += std::isnan(logits[label]) || logits[k] > logits[label] ||
                  (logits[k] == logits[label] && k < label);
      }
      right[n] = before < wanted ? 1 : 0;
    }
  });
}

}  // namespace toroid::reference
