#include "toroid/backends/reference/finite_differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "toroid/backends/reference/reference.h"
#include "toroid/base/random.h"
#include "toroid/ops/collectives.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/sum.h"
#include "toroid/passes/autodiff.h"

namespace toroid {
namespace {

constexpr double kStep = 1e-5;  // truncation kStep^2 and rounding 1e-16 / kStep are both small
constexpr int kDirections = 3;

bool contains(const std::vector<std::size_t>& set, std::size_t i) {
  return std::find(set.begin(), set.end(), i) != set.end();
}

Tensor normal_tensor(const Shape& shape, std::string_view purpose, std::uint32_t a,
                     std::uint32_t b) {
  Random random(7, purpose, a, b);
  Tensor tensor(DType::f64, shape);
  for (double& value : tensor.values<double>()) value = random.normal();
  return tensor;
}

double dot(const Tensor& a, const Tensor& b) {
  const auto x = a.values<double>(), y = b.values<double>();
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

class Differences {
 public:
  Differences(Communicator& communicator, const DifferentiationProblem& problem)
      : communicator_(communicator),
        problem_(problem),
        backend_(make_reference_backend(communicator)) {
    const Graph graph = build();
    state_ = backend_->create_state(state_schema(graph));
    for (std::size_t i = 0; i < cotangents_.size(); ++i) {
      state_->write(fmt::format("r{}", i), cotangents_[i]);
    }
    for (std::size_t i = 0; i < problem.operands.size(); ++i) write(i, problem.operands[i]);
    executable_ = backend_->compile(graph);
  }

  double largest_error() {
    const Outputs exact = executable_->run(*state_, {}, {});
    double largest = 0;
    for (const std::size_t i : problem_.wrt) {
      for (int k = 0; k < kDirections; ++k) {
        const double error = error_along(i, k, exact.at(fmt::format("d{}", i)));
        largest =
            std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(largest, error);
      }
    }
    return largest;
  }

 private:
  Graph build() {
    Builder builder(Mesh{.data = communicator_.size()});
    std::vector<Value> operands, wrt;
    for (std::size_t i = 0; i < problem_.operands.size(); ++i) {
      operands.push_back(
          builder.input(InputKind::kState, fmt::format("x{}", i), problem_.operands[i].type()));
    }
    for (const std::size_t i : problem_.wrt) wrt.push_back(operands[i]);
    const std::vector<Value> results = problem_.build(builder, operands);
    Value loss;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const TensorType type = builder.type(results[i]);
      cotangents_.push_back(normal_tensor(type.shape, "cotangent", static_cast<std::uint32_t>(i),
                                          static_cast<std::uint32_t>(communicator_.rank())));
      const Value r = builder.input(InputKind::kState, fmt::format("r{}", i), type);
      const Value part = sum(builder, multiply(builder, results[i], r));
      loss = loss ? add(builder, loss, part) : part;
    }
    const std::vector<Value> found = gradients(builder, loss, wrt);
    for (std::size_t k = 0; k < wrt.size(); ++k) {
      // "No value" is zero.
      builder.output(fmt::format("d{}", problem_.wrt[k]),
                     found[k] ? found[k] : multiply(builder, wrt[k], 0.0));
    }
    builder.output("total", all_reduce(builder, {loss}, communicator_.size())[0]);
    return builder.finish();
  }

  void write(std::size_t i, const Tensor& value) { state_->write(fmt::format("x{}", i), value); }

  double total_at(std::size_t i, const Tensor& direction, double step) {
    Tensor moved = problem_.operands[i];
    const auto to = moved.values<double>();
    const auto d = direction.values<double>();
    for (std::size_t e = 0; e < to.size(); ++e) to[e] += step * d[e];
    write(i, moved);
    const double total = executable_->run(*state_, {}, {}).at("total").item();
    write(i, problem_.operands[i]);
    return total;
  }

  double sum_over_ranks(double value) {
    double total = 0;
    const ConstBuffer input{&value, DType::f64, 1};
    const Buffer output{&total, DType::f64, 1};
    communicator_.all_reduce_start({&input, 1}, {&output, 1}, communicator_.size())->wait();
    return total;
  }

  double error_along(std::size_t i, int k, const Tensor& gradient) {
    const bool same = contains(problem_.replicated, i);
    const Tensor direction =
        normal_tensor(gradient.shape(), "direction", static_cast<std::uint32_t>(k),
                      same ? 0 : static_cast<std::uint32_t>(communicator_.rank()));
    const double measured =
        (total_at(i, direction, kStep) - total_at(i, direction, -kStep)) / (2 * kStep);
    const double expected = sum_over_ranks(dot(gradient, direction));
    const double gradient_norm = std::sqrt(sum_over_ranks(dot(gradient, gradient)));
    const double direction_norm = std::sqrt(sum_over_ranks(dot(direction, direction)));
    return std::abs(measured - expected) / (std::max(gradient_norm, 1.0) * direction_norm);
  }

  Communicator& communicator_;
  const DifferentiationProblem& problem_;
  std::unique_ptr<Backend> backend_;
  std::vector<Tensor> cotangents_;
  std::unique_ptr<State> state_;
  std::unique_ptr<Executable> executable_;
};

}  // namespace

double gradient_error(Communicator& communicator, const DifferentiationProblem& problem) {
  return Differences(communicator, problem).largest_error();
}

}  // namespace toroid
