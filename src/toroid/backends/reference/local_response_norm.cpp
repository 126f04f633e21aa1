#include "toroid/ops/local_response_norm.h"

#include <algorithm>
#include <cmath>

#include "toroid/backends/reference/kernels.h"

namespace toroid::reference {
namespace {

// The sum over the channels j of f(j) that channel c sees.
template <class Norm, class F>
double window_sum(const Norm& op, std::int64_t channels, std::int64_t c, F&& f) {
  double sum = 0;
  const std::int64_t last = std::min(c + op.size / 2, channels - 1);
  for (std::int64_t j = std::max<std::int64_t>(c - op.size / 2, 0); j <= last; ++j) {
    sum += f(static_cast<std::size_t>(j));
  }
  return sum;
}

// s of local_response_norm.h for the channels of one pixel.
template <class Norm, class T>
std::vector<double> scales(const Norm& op, std::span<const T> x) {
  std::vector<double> s;
  const auto channels = static_cast<std::int64_t>(x.size());
  for (std::int64_t c = 0; c < channels; ++c) {
    s.push_back(op.k + op.alpha * window_sum(op, channels, c, [&](std::size_t j) {
                         return static_cast<double>(x[j]) * x[j];
                       }));
  }
  return s;
}

}  // namespace

void local_response_norm(const KernelCall& call) {
  const auto& op = call.attributes<LocalResponseNorm>();
  const auto channels = static_cast<std::size_t>(call.shape(0)[3]);
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t at = 0; at < call.input<T>(0).size(); at += channels) {
      const auto x = call.input<T>(0).subspan(at, channels);
      const auto y = call.output<T>().subspan(at, channels);
      const auto s = scales(op, x);
      for (std::size_t c = 0; c < channels; ++c) {
        y[c] = static_cast<T>(x[c] / std::pow(s[c], op.beta));
      }
    }
  });
}

void local_response_norm_gradient(const KernelCall& call) {
  const auto& op = call.attributes<LocalResponseNormGradient>();
  const auto channels = static_cast<std::size_t>(call.shape(0)[3]);
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t at = 0; at < call.input<T>(0).size(); at += channels) {
      const auto x = call.input<T>(0).subspan(at, channels);
      const auto dy = call.input<T>(1).subspan(at, channels);
      const auto dx = call.output<T>().subspan(at, channels);
      const auto s = scales(op, x);
      for (std::size_t c = 0; c < channels; ++c) {
        const double others =
            window_sum(op, call.shape(0)[3], static_cast<std::int64_t>(c), [&](std::size_t j) {
              return static_cast<double>(dy[j]) * x[j] / std::pow(s[j], op.beta + 1);
            });
        dx[c] = static_cast<T>(dy[c] / std::pow(s[c], op.beta) -
                               2 * op.alpha * op.beta * x[c] * others);
      }
    }
  });
}

}  // namespace toroid::reference
