#include "toroid/backends/case_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "toroid/base/error.h"

namespace toroid {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double float_error(const Tensor& got, const Tensor& wanted) {
  const Tensor a = got.converted(DType::f64), b = wanted.converted(DType::f64);
  const auto x = a.values<double>(), y = b.values<double>();
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    difference += (x[i] - y[i]) * (x[i] - y[i]);
  }
  for (const double v : y) norm += std::isfinite(v) ? v * v : 0;
  if (!std::isfinite(difference)) return kInfinity;
  return std::sqrt(norm > 0 ? difference / norm : difference);
}

double share_unequal(const Tensor& got, const Tensor& wanted) {
  const Tensor a = got.converted(DType::f64), b = wanted.converted(DType::f64);
  const auto x = a.values<double>(), y = b.values<double>();
  double unequal = 0;
  for (std::size_t i = 0; i < x.size(); ++i) unequal += x[i] != y[i];
  return x.empty() ? 0 : unequal / static_cast<double>(x.size());
}

std::vector<Tensor> widened(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> result;
  for (const Tensor& tensor : tensors) {
    result.push_back(is_float(tensor.dtype()) ? tensor.converted(DType::f64) : tensor);
  }
  return result;
}

double largest_error(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted) {
  if (got.size() != wanted.size()) return kInfinity;
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, relative_error(got[i], wanted[i]));
  }
  return largest;
}

}  // namespace

std::vector<Tensor> case_operands(const OpCase& op_case, std::uint64_t seed) {
  std::vector<Tensor> operands;
  for (std::size_t i = 0; i < op_case.operands.size(); ++i) {
    operands.push_back(make_operand(op_case.operands[i], seed, static_cast<std::uint32_t>(i)));
  }
  return operands;
}

Graph case_graph(const OpCase& op_case) {
  Builder builder;
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < op_case.operands.size(); ++i) {
    inputs.push_back(
        builder.input(InputKind::kState, fmt::format("x{}", i), op_case.operands[i].type));
  }
  const std::vector<Value> results = op_case.build(builder, inputs);
  for (std::size_t i = 0; i < results.size(); ++i) {
    builder.output(fmt::format("y{}", i), results[i]);
  }
  return builder.finish();
}

std::vector<Tensor> run_case(Backend& backend, const Graph& graph,
                             const std::vector<Tensor>& operands) {
  const auto state = backend.create_state(state_schema(graph));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    state->write(fmt::format("x{}", i), operands[i]);
  }
  Outputs outputs = backend.compile(graph)->run(*state, {}, {});
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    tensors.push_back(std::move(outputs.at(fmt::format("y{}", i))));
  }
  return tensors;
}

std::vector<Tensor> run_case(Backend& backend, const OpCase& op_case,
                             const std::vector<Tensor>& operands) {
  return run_case(backend, case_graph(op_case), operands);
}

double relative_error(const Tensor& got, const Tensor& wanted) {
  if (got.shape() != wanted.shape()) return kInfinity;
  if (is_float(got.dtype()) && is_float(wanted.dtype())) return float_error(got, wanted);
  return got.dtype() == wanted.dtype() ? share_unequal(got, wanted) : kInfinity;
}

std::vector<CaseError> compare_with_oracle(Backend& backend, Backend& oracle, std::uint64_t seed) {
  const std::vector<OpCase> cases = op_cases(DType::f32), exact_cases = op_cases(DType::f64);
  std::vector<CaseError> errors;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CaseError result{cases[i].op, cases[i].label, kInfinity, ""};
    try {
      const std::vector<Tensor> operands = case_operands(cases[i], seed);
      result.error = largest_error(run_case(backend, cases[i], operands),
                                   run_case(oracle, exact_cases[i], widened(operands)));
    } catch (const Error& error) {
      result.message = error.what();
    }
    errors.push_back(std::move(result));
  }
  return errors;
}

}  // namespace toroid
