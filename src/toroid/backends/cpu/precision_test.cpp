// What narrower arithmetic and faster algorithms cost: every op on activations in bf16, against the
// oracle in bf16; Winograd's convolutions, against the oracle in f64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "toroid/backends/case_runner.h"
#include "toroid/backends/cpu/cpu.h"
#include "toroid/backends/reference/reference.h"
#include "toroid/base/machine.h"
#include "toroid/comm/self.h"
#include "toroid/ops/conv2d.h"
#include "toroid/ops/elementwise.h"
#include "toroid/passes/mixed_precision.h"

namespace toroid {
namespace {

bool has_bf16(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return std::ranges::any_of(node.types,
                               [](const TensorType& type) { return type.dtype == DType::bf16; });
  });
}

bool holds_bf16(const Tensor& tensor) {
  return tensor.converted(DType::bf16).converted(tensor.dtype()).identical(tensor);
}

// The share of elements that differ; infinite where two are more than one bf16 number apart (and
// more than what is left of f32 sums that cancel).
double share_apart(const Tensor& got, const Tensor& wanted) {
  const Tensor a = got.converted(DType::f64), b = wanted.converted(DType::f64);
  const auto x = a.values<double>(), y = b.values<double>();
  double apart = 0, largest = 0;
  for (const double v : y) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i]) continue;
    const double distance = std::abs(x[i] - y[i]);
    if (!(distance <= 0x1p-7 * std::abs(y[i]) + 1e-6 * largest)) return INFINITY;
    apart += distance > 1e-6 * largest;
  }
  return x.empty() ? 0 : apart / static_cast<double>(x.size());
}

// Results in f32 agree as far as sums in another order do; of those in bf16 a few lie on the other
// side of a rounding boundary.
void expect_rounded(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted,
                    const std::string& what) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t k = 0; k < got.size(); ++k) {
    if (holds_bf16(wanted[k])) {
      EXPECT_LE(share_apart(got[k], wanted[k]), 0.02) << what << ", result " << k;
    } else {
      EXPECT_LE(relative_error(got[k], wanted[k]), 1e-6) << what << ", result " << k;
    }
  }
}

template <class OpOfTwo>
OpCase case_of(const OpOfTwo& op, const Shape& a, const Shape& b, DType f) {
  const auto build = [op](Builder& builder, const std::vector<Value>& inputs) {
    return builder.add_all(op, inputs);
  };
  return {std::string(OpOfTwo::kName),
          "two operands",
          {{{f, a}, Fill::kNormal}, {{f, b}, Fill::kNormal}},
          build,
          {}};
}

TEST(CpuBf16, EveryCaseOnActivationsIsTheOraclesWithinARounding) {
  SelfCommunicator communicator;
  const auto oracle = make_reference_backend(communicator);
  std::set<std::string> ops;
  for (const OpCase& one : op_cases(DType::f32)) {
    const Graph graph = mixed_precision(case_graph(one));
    if (!has_bf16(graph)) continue;
    ops.insert(one.op);
    const auto operands = case_operands(one, 1);
    const auto wanted = run_case(*oracle, graph, operands);
    for (const int block : {0, 8, 16}) {
      const auto backend = make_cpu_backend(communicator, {.block_everything = block});
      expect_rounded(run_case(*backend, graph, operands), wanted,
                     one.op + ", " + one.label + ", blocks of " + std::to_string(block));
    }
  }
  EXPECT_GE(ops.size(), 17U) << "ops that mixed_precision.cpp lists, and normalize_images";
}

TEST(CpuBf16, ActivationsThatMeetAreAddedInF32AndRounded) {
  SelfCommunicator communicator;
  const Shape shape{3, 7, 5, 17};
  const OpCase one = case_of(Binary{BinaryKind::kAdd}, shape, shape, DType::bf16);
  const auto operands = case_operands(one, 2);
  const auto wanted = run_case(*make_reference_backend(communicator), one, operands);
  for (const int block : {0, 8, 16}) {
    const auto backend = make_cpu_backend(communicator, {.block_everything = block});
    EXPECT_TRUE(run_case(*backend, one, operands)[0].identical(wanted[0])) << block;
  }
}

// The relative errors of a convolution of 64 to 64 channels and of its gradients.
struct ConvolutionErrors {
  double forward = 0, data = 0, kernel = 0;
};

template <class ConvolutionOp>
double error_of(Backend& backend, Backend& oracle, const ConvolutionOp& op, const Shape& a,
                const Shape& b) {
  const OpCase one = case_of(op, a, b, DType::f32), exact = case_of(op, a, b, DType::f64);
  const auto operands = case_operands(one, 7);
  const auto wanted = run_case(
      oracle, exact, {operands[0].converted(DType::f64), operands[1].converted(DType::f64)});
  return relative_error(run_case(backend, one, operands)[0], wanted[0]);
}

ConvolutionErrors errors_of(Backend& backend, Backend& oracle, std::int64_t height,
                            std::int64_t width) {
  const Shape x{4, height, width, 64}, kernel{3, 3, 64, 64};
  const Padding same{1, 1, 1, 1};
  return {.forward = error_of(backend, oracle, Conv2d{.padding = same}, x, kernel),
          .data = error_of(backend, oracle,
                           Conv2dInputGradient{.padding = same, .input_size = {height, width}}, x,
                           kernel),
          .kernel = error_of(backend, oracle,
                             Conv2dKernelGradient{.padding = same, .kernel_size = {3, 3}}, x, x)};
}

TEST(Winograd, CostsFewBitsAndIsLeftOutWhereItIsTurnedOff) {
  SelfCommunicator communicator;
  const auto oracle = make_reference_backend(communicator);
  const auto fast = make_cpu_backend(communicator);
  const auto direct = make_cpu_backend(communicator, {.fast_convolutions = false});
  // Whole tiles of 4x4 results, and incomplete ones.
  for (const auto& [height, width] : {std::pair{16, 16}, std::pair{15, 17}}) {
    const ConvolutionErrors slow = errors_of(*direct, *oracle, height, width);
    const ConvolutionErrors quick = errors_of(*fast, *oracle, height, width);
    std::printf("%dx%d: direct %.1e %.1e %.1e, Winograd %.1e %.1e %.1e\n", height, width,
                slow.forward, slow.data, slow.kernel, quick.forward, quick.data, quick.kernel);
    for (const double error : {slow.forward, slow.data, slow.kernel}) EXPECT_LT(error, 1e-6);
    for (const double error : {quick.forward, quick.data, quick.kernel}) EXPECT_LT(error, 1e-5);
    if (!instruction_set().starts_with("AVX-512")) continue;  // oneDNN has Winograd there alone
    EXPECT_NE(quick.forward, slow.forward);
    EXPECT_NE(quick.data, slow.data);
    EXPECT_NE(quick.kernel, slow.kernel);
  }
}

}  // namespace
}  // namespace toroid
