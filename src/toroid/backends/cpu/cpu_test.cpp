#include "toroid/backends/cpu/cpu.h"

#include <cmath>
#include <limits>

#include "toroid/backends/case_runner.h"
#include "toroid/backends/cpu/kernel.h"
#include "toroid/backends/reference/reference.h"
#include "toroid/base/random.h"
#include "toroid/base/testing.h"
#include "toroid/comm/self.h"
#include "toroid/comm/threads.h"
#include "toroid/ops/avg_pool.h"
#include "toroid/ops/batch_norm.h"
#include "toroid/ops/collectives.h"
#include "toroid/ops/concat.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/conv2d.h"
#include "toroid/ops/dropout.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/local_response_norm.h"
#include "toroid/ops/matmul.h"
#include "toroid/ops/max_pool.h"
#include "toroid/ops/relu.h"
#include "toroid/ops/softmax_cross_entropy.h"
#include "toroid/ops/sum.h"
#include "toroid/passes/autodiff.h"

namespace toroid {
namespace {

Tensor normal(const Shape& shape, std::uint32_t stream) {
  return make_operand({{DType::f32, shape}, Fill::kNormal}, 3, stream);
}

TEST(CpuKernels, EveryOpHasOne) {
  for (const std::string_view op : op_names()) EXPECT_NE(cpu::find_kernel(op), nullptr) << op;
  EXPECT_EQ(cpu::find_kernel("no_such_op"), nullptr);
}

TEST(CpuKernels, EveryCaseAgreesWithTheF64Oracle) {
  SelfCommunicator communicator;
  const auto oracle = make_reference_backend(communicator);
  for (const int threads : {1, 2}) {
    const auto backend = make_cpu_backend(communicator, {.threads = threads});
    for (const CaseError& result : compare_with_oracle(*backend, *oracle)) {
      EXPECT_LT(result.error, 1e-6) << result.op << ", " << result.label << ": " << result.message;
    }
  }
}

TEST(CpuKernels, EveryCaseAgreesInBlocksOfChannels) {
  SelfCommunicator communicator;
  const auto oracle = make_reference_backend(communicator);
  for (const int block : {8, 16}) {
    const auto backend = make_cpu_backend(communicator, {.block_everything = block});
    for (const CaseError& result : compare_with_oracle(*backend, *oracle)) {
      EXPECT_LT(result.error, 1e-6) << result.op << ", " << result.label << ": " << result.message;
    }
  }
}

// The worked cases are too small for more than one part or thread.
OpCase large_case(const Op& op, std::vector<Operand> operands) {
  return {std::string(op.name()),
          "large",
          std::move(operands),
          [op](Builder& builder, const std::vector<Value>& inputs) {
            return builder.add_all(op, inputs);
          },
          {}};
}

std::vector<OpCase> large_cases(DType f) {
  const auto normals = [f](Shape shape) { return Operand{{f, std::move(shape)}, Fill::kNormal}; };
  const auto variance = [f](Shape shape) {
    return Operand{{f, std::move(shape)}, Fill::kPositive};
  };
  const Operand x = normals({20, 33, 31, 24}), channels = normals({24}),
                statistic = normals({2, 24});
  const Operand weights{{f, Shape{20}}, Fill::kMask};
  return {
      large_case(BatchNormStatistics{.groups = 2}, {x}),
      large_case(BatchNormStatistics{}, {x, weights}),
      large_case(BatchNormApply{.residual = true, .relu = true},
                 {x, statistic, variance({2, 24}), channels, channels, x}),
      large_case(BatchNormGradientSums{}, {x, x, statistic, variance({2, 24})}),
      large_case(BatchNormInputGradient{.weights = true},
                 {x, x, statistic, variance({2, 24}), channels, statistic, statistic,
                  variance({2, 24}), weights}),
      large_case(Sum{.axes = {0, 1, 2}}, {x}),
      large_case(Sum{.axes = {1, 2}}, {x}),
      large_case(Sum{.axes = {0, 1, 2, 3}}, {x}),
      large_case(SumSquares{}, {x, channels}),
      large_case(AddBias{}, {x, channels}),
      large_case(MaxPool{.window = {3, 3}, .stride = {2, 2}, .padding = {1, 1, 1, 1}}, {x}),
      large_case(AvgPool{.window = {3, 3}, .stride = {2, 2}, .padding = {1, 1, 1, 1}}, {x}),
      large_case(Concat{.axis = 3}, {x, normals({20, 33, 31, 40}), x}),
      large_case(Slice{.axis = 3, .start = 3, .limit = 21}, {x}),
      large_case(Dropout{.rate = 0.4, .key = 5}, {x,
                                                  {{DType::u32, Shape{20}}, Fill::kWords},
                                                  {{DType::u32, Shape{}}, Fill::kWords},
                                                  {{DType::i32, Shape{}}, Fill::kLabels, 1000}}),
      large_case(LocalResponseNorm{.alpha = 0.1}, {x}),
      large_case(LocalResponseNormGradient{.alpha = 0.1}, {x, x}),
      large_case(Conv2d{.padding = {1, 1, 1, 1}}, {x, normals({3, 3, 24, 40})}),
      large_case(Broadcast{.shape = {20, 33, 31, 24}, .axes = {1, 2}}, {normals({20, 24})}),
      large_case(Binary{BinaryKind::kAdd}, {x, normals({})}),
  };
}

TEST(CpuKernels, LargeTensorsAgreeWithTheF64OracleOnAnyNumberOfThreads) {
  SelfCommunicator communicator;
  const auto oracle = make_reference_backend(communicator);
  const auto cases = large_cases(DType::f32), exact = large_cases(DType::f64);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto operands = case_operands(cases[i], 5);
    std::vector<Tensor> wide;
    for (const Tensor& operand : operands) {
      wide.push_back(is_float(operand.dtype()) ? operand.converted(DType::f64) : operand);
    }
    const auto wanted = run_case(*oracle, exact[i], wide);
    for (const CpuOptions& options :
         {CpuOptions{.threads = 1}, CpuOptions{.threads = 2}, CpuOptions{.threads = 3},
          CpuOptions{.threads = 2, .block_everything = 8}}) {
      const auto backend = make_cpu_backend(communicator, options);
      const auto got = run_case(*backend, cases[i], operands);
      for (std::size_t k = 0; k < got.size(); ++k) {
        EXPECT_LT(relative_error(got[k], wanted[k]), 1e-6) << cases[i].op << " " << k;
      }
    }
  }
}

TEST(CpuKernels, Bf16ProductsAreTheOraclesInF32) {
  SelfCommunicator communicator;
  const auto oracle = make_reference_backend(communicator);
  const auto cpu = make_cpu_backend(communicator, {.threads = 2});
  const auto normals = [](Shape shape) {
    return Operand{{DType::bf16, std::move(shape)}, Fill::kNormal};
  };
  for (const OpCase& one :
       {large_case(Matmul{}, {normals({9, 70}), normals({70, 33})}),
        large_case(Matmul{.transpose_a = true}, {normals({70, 9}), normals({70, 33})}),
        large_case(Matmul{.transpose_b = true}, {normals({9, 70}), normals({33, 70})}),
        large_case(Conv2dKernelGradient{.padding = {1, 1, 1, 1}, .kernel_size = {3, 3}},
                   {normals({2, 9, 9, 32}), normals({2, 9, 9, 64})})}) {
    const auto operands = case_operands(one, 4);
    const auto got = run_case(*cpu, one, operands), wanted = run_case(*oracle, one, operands);
    EXPECT_EQ(got[0].dtype(), DType::f32);
    EXPECT_LT(relative_error(got[0], wanted[0]), 1e-6) << one.op;
  }
}

// bf16 rows are taken two registers, one or a part of one at a time, as the channels go.
TEST(CpuKernels, Bf16BatchNormIsTheOraclesRoundedForAnyNumberOfChannels) {
  SelfCommunicator communicator;
  const auto oracle = make_reference_backend(communicator);
  const auto cpu = make_cpu_backend(communicator, {.threads = 2});
  for (const std::int64_t channels : {64, 48, 7}) {
    const Operand x{{DType::bf16, Shape{6, 19, 23, channels}}, Fill::kNormal};
    const Operand statistic{{DType::f32, Shape{2, channels}}, Fill::kNormal};
    const Operand variance{{DType::f32, Shape{2, channels}}, Fill::kPositive};
    const Operand gamma{{DType::f32, Shape{channels}}, Fill::kNormal};
    const OpCase cases[] = {
        large_case(BatchNormStatistics{.groups = 2}, {x}),
        large_case(BatchNormApply{.residual = true, .relu = true},
                   {x, statistic, variance, gamma, gamma, x}),
        large_case(BatchNormGradientSums{.gamma = true, .beta = true, .relu = true},
                   {x, x, statistic, variance, gamma, gamma}),
        large_case(BatchNormInputGradient{.beta = true, .relu = true},
                   {x, x, statistic, variance, gamma, gamma, statistic, statistic, variance})};
    for (const OpCase& one : cases) {
      const auto operands = case_operands(one, 9);
      const auto got = run_case(*cpu, one, operands), wanted = run_case(*oracle, one, operands);
      for (std::size_t k = 0; k < got.size(); ++k) {
        // Either side of a rounding boundary, one bf16 step apart.
        const double tolerance = got[k].dtype() == DType::bf16 ? 2e-4 : 1e-6;
        EXPECT_LT(relative_error(got[k], wanted[k]), tolerance)
            << one.op << " " << k << " of " << channels;
      }
    }
  }
}

TEST(CpuKernels, ABatchFarFromZeroHasAnAccurateVariance) {
  SelfCommunicator communicator;
  const auto backend = make_cpu_backend(communicator, {.threads = 2});
  const OpCase one = large_case(BatchNormStatistics{}, {{{DType::f32, Shape{40000, 1}}}});
  Tensor x(DType::f32, Shape{40000, 1});
  for (std::size_t i = 0; i < 40000; ++i) x.values<float>()[i] = i % 2 == 0 ? 9999.0F : 10001.0F;
  const auto got = run_case(*backend, one, {x});
  EXPECT_FLOAT_EQ(static_cast<float>(got[1].item()), 10000);
  EXPECT_FLOAT_EQ(static_cast<float>(got[2].item()), 40000);
}

TEST(CpuKernels, DenormalsCountAsZeroInsideAStepOnly) {
  SelfCommunicator communicator;
  const auto backend = make_cpu_backend(communicator);
  volatile float tiny = 1e-39F;
  const OpCase twice =
      large_case(Binary{BinaryKind::kAdd}, {{{DType::f32, Shape{}}}, {{DType::f32, Shape{}}}});
  const float copy = tiny;
  const auto got = run_case(*backend, twice, {Tensor::scalar(copy), Tensor::scalar(copy)});
  EXPECT_EQ(got[0].item(), 0);
  EXPECT_GT(tiny + tiny, 0);
}

// A convolutional network with batch norm: forward, backward and an SGD update.
Graph small_network(DType f, int replicas, std::int64_t examples) {
  Builder b(Mesh{.data = replicas});
  const Value images = b.input(InputKind::kState, "images", {f, Shape{examples, 12, 12, 3}});
  const Value labels = b.input(InputKind::kBatch, "labels", {DType::i32, Shape{examples}});
  const Value rate = b.input(InputKind::kScalar, "learning_rate", {f, Shape{}});
  const std::vector<Value> parameters{b.input(InputKind::kState, "kernel", {f, Shape{3, 3, 3, 16}}),
                                      b.input(InputKind::kState, "gamma", {f, Shape{16}}),
                                      b.input(InputKind::kState, "dense", {f, Shape{16, 10}})};
  const Value y = conv2d(b, images, parameters[0], {.padding = {1, 1, 1, 1}});
  const BatchMoments moments = batch_norm_moments(b, y, {}, 1, replicas);
  const Value normed = b.add(BatchNormApply{.beta = false, .count = true, .group_size = replicas},
                             {y, moments.mean, moments.variance, parameters[1], moments.count});
  const Value pooled = global_average_pool(b, relu(b, normed));
  const Value loss =
      sum(b, softmax_cross_entropy(b, matmul(b, pooled, parameters[2]), labels, 0.1));
  const auto local = gradients(b, loss, parameters);
  const auto total = all_reduce(b, local, replicas);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string name = i == 0 ? "kernel" : i == 1 ? "gamma" : "dense";
    b.update(name, subtract(b, parameters[i], multiply(b, total[i], rate)));
    b.output("d" + name, total[i]);
  }
  b.output("loss", all_reduce(b, {loss}, replicas)[0]);
  return b.finish();
}

// Examples `first` and following of a fixed batch, in both forms the network takes.
struct Trained {
  Outputs outputs;
  std::vector<Tensor> state;
};
Trained train(Backend& backend, DType f, int replicas, int rank, std::int64_t examples, int steps) {
  const Graph graph = small_network(f, replicas, examples);
  const auto state = backend.create_state(state_schema(graph));
  const auto step = backend.compile(graph);
  const Tensor all = normal({8, 12, 12, 3}, 0).converted(f);
  Tensor images(f, Shape{examples, 12, 12, 3});
  std::memcpy(images.raw(), all.raw() + static_cast<std::size_t>(rank) * images.bytes(),
              images.bytes());
  state->write("images", images);
  state->write("kernel", normal({3, 3, 3, 16}, 1).converted(f));
  state->write("gamma", normal({16}, 2).converted(f));
  state->write("dense", normal({16, 10}, 3).converted(f));
  Batch batch;
  batch.labels = Tensor(DType::i32, Shape{examples});
  for (std::int64_t i = 0; i < examples; ++i) {
    batch.labels.values<std::int32_t>()[static_cast<std::size_t>(i)] =
        static_cast<std::int32_t>((rank * examples + i) % 10);
  }
  Trained result;
  for (int i = 0; i < steps; ++i) {
    result.outputs = step->run(*state, {&batch, 1}, {.learning_rate = 0.01, .step = i});
  }
  for (const auto* name : {"kernel", "gamma", "dense"}) result.state.push_back(state->read(name));
  return result;
}

void expect_same_bits(const Trained& a, const Trained& b) {
  for (const auto& [name, value] : a.outputs) {
    EXPECT_TRUE(value.identical(b.outputs.at(name))) << name;
  }
  for (std::size_t i = 0; i < a.state.size(); ++i) EXPECT_TRUE(a.state[i].identical(b.state[i]));
}

TEST(Cpu, AStepAgreesWithTheF64Oracle) {
  SelfCommunicator communicator;
  const auto oracle = make_reference_backend(communicator);
  const auto backend = make_cpu_backend(communicator, {.threads = 2});
  const Trained wanted = train(*oracle, DType::f64, 1, 0, 8, 1);
  const Trained got = train(*backend, DType::f32, 1, 0, 8, 1);
  EXPECT_LT(relative_error(got.outputs.at("loss"), wanted.outputs.at("loss")), 1e-6);
  for (const auto* name : {"dkernel", "dgamma", "ddense"}) {
    EXPECT_LT(relative_error(got.outputs.at(name), wanted.outputs.at(name)), 1e-5) << name;
  }
  for (std::size_t i = 0; i < got.state.size(); ++i) {
    EXPECT_LT(relative_error(got.state[i], wanted.state[i]), 1e-6);
  }
}

TEST(Cpu, TheSameStepsGiveTheSameBits) {
  SelfCommunicator communicator;
  for (const int threads : {1, 2}) {
    const auto first = make_cpu_backend(communicator, {.threads = threads});
    const auto second = make_cpu_backend(communicator, {.threads = threads});
    expect_same_bits(train(*first, DType::f32, 1, 0, 8, 5), train(*second, DType::f32, 1, 0, 8, 5));
  }
}

TEST(Cpu, TwoRanksAsThreadsTrainLikeOne) {
  SelfCommunicator self;
  const auto oracle = make_reference_backend(self);
  const Trained wanted = train(*oracle, DType::f64, 1, 0, 8, 1);
  std::vector<Trained> ranks(2);
  run_ranks(2, [&](Communicator& communicator) {
    const auto backend = make_cpu_backend(communicator, {.threads = 2});
    ranks[static_cast<std::size_t>(communicator.rank())] =
        train(*backend, DType::f32, 2, communicator.rank(), 4, 1);
  });
  expect_same_bits(ranks[0], ranks[1]);
  for (const auto& [name, value] : wanted.outputs) {
    EXPECT_LT(relative_error(ranks[0].outputs.at(name), value), 1e-5) << name;
  }
}

TEST(Cpu, VariablesThatTradePlacesKeepTheirOldValues) {
  SelfCommunicator communicator;
  Builder b;
  const TensorType type{DType::f32, Shape{3}};
  const Value x = b.input(InputKind::kState, "x", type), y = b.input(InputKind::kState, "y", type);
  b.update("x", y);
  b.update("y", x);
  b.output("before", x);
  const Graph graph = b.finish();
  const auto backend = make_cpu_backend(communicator);
  const auto state = backend->create_state(state_schema(graph));
  const auto step = backend->compile(graph);
  const Tensor one = Tensor::of<float>({3}, {1, 1, 1}), two = Tensor::of<float>({3}, {2, 2, 2});
  state->write("x", one);
  state->write("y", two);
  const Outputs outputs = step->run(*state, {}, {});
  EXPECT_TRUE(outputs.at("before").identical(one));
  EXPECT_TRUE(state->read("x").identical(two));
  EXPECT_TRUE(state->read("y").identical(one));
}

TEST(Cpu, AStepThatFailsLeavesTheStateAsItWas) {
  SelfCommunicator communicator;
  const Graph graph = small_network(DType::f32, 1, 4);
  const auto backend = make_cpu_backend(communicator);
  const auto state = backend->create_state(state_schema(graph));
  const auto step = backend->compile(graph);
  state->write("kernel", normal({3, 3, 3, 16}, 1));
  Batch batch;
  batch.labels = Tensor::of<std::int32_t>({4}, {0, 1, 10, 2});
  EXPECT_ERROR(step->run(*state, {&batch, 1}, {.learning_rate = 1}),
               "cpu: softmax_cross_entropy: the label of example 2 of the batch must be in 0..9, "
               "is 10");
  EXPECT_TRUE(state->read("kernel").identical(normal({3, 3, 3, 16}, 1)));
  batch.labels = Tensor::of<std::int32_t>({4}, {0, 1, 9, 2});
  EXPECT_TRUE(std::isfinite(step->run(*state, {&batch, 1}, {}).at("loss").item()));
}

TEST(Cpu, OtherFloatTypesAreRefusedByTheNodesPath) {
  SelfCommunicator communicator;
  const auto backend = make_cpu_backend(communicator);
  Builder b;
  const auto scope = b.scope("block1");
  b.output("y", exp(b, constant(b, 1, {DType::f64, Shape{2}})));
  EXPECT_ERROR(
      backend->compile(b.finish()),
      "cpu: block1/constant: this backend computes in f32 and bf16 and the result is f64[2]; use "
      "the reference backend");
}

TEST(Cpu, AGraphForAnotherWorldIsRefused) {
  SelfCommunicator communicator;
  EXPECT_ERROR(make_cpu_backend(communicator)->compile(small_network(DType::f32, 2, 4)),
               "cpu: the graph is for 2 replicas, this world has 1 ranks");
  EXPECT_ERROR(make_cpu_backend(communicator, {.threads = -1}), "threads must not be negative");
}

}  // namespace
}  // namespace toroid
