// The gradients of all ops against finite differences.
#include <gtest/gtest.h>

#include <mutex>

#include "toroid/backends/case_runner.h"
#include "toroid/backends/reference/finite_differences.h"
#include "toroid/base/random.h"
#include "toroid/base/testing.h"
#include "toroid/comm/self.h"
#include "toroid/comm/threads.h"
#include "toroid/ops/batch_norm.h"
#include "toroid/ops/collectives.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/sum.h"

namespace toroid {
namespace {

constexpr double kTolerance = 1e-7;

Tensor normal(const Shape& shape, std::uint64_t seed, int rank = 0) {
  return make_operand({{DType::f64, shape}, Fill::kNormal}, seed, static_cast<std::uint32_t>(rank));
}

// gradient_error on threads; every rank must get the same number.
double error_over_ranks(int world,
                        const std::function<DifferentiationProblem(int rank)>& problem_of) {
  std::mutex mutex;
  std::vector<double> errors;
  run_ranks(world, [&](Communicator& communicator) {
    const double error = gradient_error(communicator, problem_of(communicator.rank()));
    const std::lock_guard lock(mutex);
    errors.push_back(error);
  });
  for (const double error : errors) EXPECT_EQ(error, errors[0]);
  return errors[0];
}

TEST(Gradients, OfEveryOpAreThoseOfFiniteDifferences) {
  SelfCommunicator communicator;
  for (const OpCase& op_case : op_cases(DType::f64)) {
    if (op_case.differentiable.empty()) continue;
    const DifferentiationProblem problem{op_case.build, case_operands(op_case, 1),
                                         op_case.differentiable};
    EXPECT_LT(gradient_error(communicator, problem), kTolerance)
        << op_case.op << ", " << op_case.label;
  }
}

// The check itself must be able to fail.
TEST(Gradients, AWrongGradientIsNoticed) {
  SelfCommunicator communicator;
  // Fed as a constant, the variance gets no gradient although y depends on it.
  const DifferentiationProblem problem{
      [](Builder& builder, const std::vector<Value>& x) {
        return builder.add_all(BatchNormApply{.gamma = false, .beta = false}, x);
      },
      {normal({4, 3}, 1), normal({1, 3}, 2),
       make_operand({{DType::f64, Shape{1, 3}}, Fill::kPositive}, 3, 0)},
      {2}};
  EXPECT_GT(gradient_error(communicator, problem), 1e-2);
}

struct BatchNormProblem {
  Shape x;
  std::int64_t groups = 1;
  int group_size = 1;
  bool affine = true;           ///< with gamma and beta
  std::vector<double> weights;  ///< of this rank's examples; none: unweighted
};

// y = batch norm with the statistics of the batch. Examples of weight 0 are kept out of the loss,
// as masks do, since the op takes their dy to be 0.
DifferentiationProblem problem_of(const BatchNormProblem& p, int rank = 0) {
  const bool weighted = !p.weights.empty();
  const auto build = [p, weighted](Builder& builder, const std::vector<Value>& operands) {
    const Value weights = weighted ? operands.back() : Value{};
    const BatchMoments moments =
        batch_norm_moments(builder, operands[0], weights, p.groups, p.group_size);
    std::vector<Value> inputs{operands[0], moments.mean, moments.variance};
    if (p.affine) inputs.insert(inputs.end(), {operands[1], operands[2]});
    inputs.push_back(moments.count);
    if (weighted) inputs.push_back(weights);
    const Value y = builder.add(BatchNormApply{.epsilon = 1e-3,
                                               .gamma = p.affine,
                                               .beta = p.affine,
                                               .count = true,
                                               .weights = weighted,
                                               .group_size = p.group_size},
                                inputs);
    if (!weighted) return std::vector<Value>{y};
    std::vector<std::int64_t> axes;
    for (int axis = 1; axis < p.x.rank(); ++axis) axes.push_back(axis);
    return std::vector<Value>{multiply(builder, y, broadcast(builder, weights, p.x, axes))};
  };
  DifferentiationProblem problem{build, {normal(p.x, 1, rank)}, {0}};
  if (p.affine) {
    problem.operands.push_back(normal({p.x.back()}, 2));
    problem.operands.push_back(normal({p.x.back()}, 3));
    problem.wrt = {0, 1, 2};
    problem.replicated = {1, 2};
  }
  if (weighted) {
    problem.operands.push_back(Tensor::of<double>(Shape{p.x[0]}, p.weights));
  }
  return problem;
}

TEST(BatchNormGradients, OfBatchStatisticsAreThoseOfFiniteDifferences) {
  SelfCommunicator communicator;
  for (const BatchNormProblem& p : std::vector<BatchNormProblem>{
           {.x = {4, 3, 2, 3}},
           {.x = {4, 3, 2, 3}, .affine = false},
           {.x = {6, 5}, .groups = 2},
           {.x = {4, 2, 2, 1}, .weights = {1, 0, 1, 1}},
           {.x = {6, 2, 1, 3}, .groups = 3, .weights = {1, 1, 1, 0, 1, 1}},
           {.x = {4, 3, 2}, .groups = 2, .weights = {1, 1, 0, 0}},  // an empty group
       }) {
    EXPECT_LT(gradient_error(communicator, problem_of(p)), kTolerance)
        << p.x.str() << " groups " << p.groups << " weights " << p.weights.size();
  }
}

TEST(BatchNormGradients, OfStatisticsOverGroupsOfRanksAreThoseOfFiniteDifferences) {
  for (const int group_size : {2, 4}) {
    EXPECT_LT(
        error_over_ranks(4,
                         [&](int rank) {
                           return problem_of({.x = {2, 2, 3}, .group_size = group_size}, rank);
                         }),
        kTolerance)
        << group_size;
  }
}

TEST(BatchNormGradients, OverRanksCountRealExamplesOnly) {
  // Rank 1 has one real example of two, rank 3 has none.
  const std::vector<std::vector<double>> weights{{1, 1}, {1, 0}, {1, 1}, {0, 0}};
  EXPECT_LT(error_over_ranks(4,
                             [&](int rank) {
                               return problem_of(
                                   {.x = {2, 3, 2},
                                    .group_size = 2,
                                    .weights = weights[static_cast<std::size_t>(rank)]},
                                   rank);
                             }),
            kTolerance);
}

// A nonlinear function of a collective's results, so that its gradient depends on them.
template <class Collective>
double collective_error(Collective collective, int group_size) {
  return error_over_ranks(4, [&](int rank) {
    return DifferentiationProblem{
        [collective, group_size](Builder& builder, const std::vector<Value>& x) {
          std::vector<Value> results;
          for (const Value value : collective(builder, x, group_size)) {
            results.push_back(multiply(builder, value, value));
          }
          return results;
        },
        {normal({8}, 1, rank), normal({4}, 2, rank)},
        {0, 1}};
  });
}

TEST(CollectiveGradients, AreThoseOfFiniteDifferences) {
  for (const int group_size : {2, 4}) {
    EXPECT_LT(collective_error(all_reduce, group_size), kTolerance) << group_size;
    EXPECT_LT(collective_error(reduce_scatter, group_size), kTolerance) << group_size;
    EXPECT_LT(collective_error(all_gather, group_size), kTolerance) << group_size;
  }
}

// A bucket of which the loss needs one member only.
TEST(CollectiveGradients, ExistForPartOfABucket) {
  EXPECT_LT(error_over_ranks(2,
                             [](int rank) {
                               return DifferentiationProblem{
                                   [](Builder& builder, const std::vector<Value>& x) {
                                     const Value y = all_reduce(builder, x, 2)[1];
                                     return std::vector<Value>{multiply(builder, y, y)};
                                   },
                                   {normal({3}, 1, rank), normal({2}, 2, rank)},
                                   {0, 1}};
                             }),
            kTolerance);
}

}  // namespace
}  // namespace toroid
