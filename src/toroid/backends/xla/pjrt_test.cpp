#include "toroid/backends/xla/pjrt.h"

#include <dlfcn.h>
#include <string.h>

#include <filesystem>
#include <string>
#include <vector>

#include "toroid/base/file.h"
#include "toroid/base/testing.h"

namespace toroid {
namespace {

using Arguments = std::vector<std::vector<PjrtBuffer*>>;

/// Eight CPU devices, opened once for all tests (a plugin lives as long as the process).
class Pjrt : public testing::Test {
 protected:
  static std::filesystem::path plugin() {
    return std::filesystem::path(TOROID_PJRT_DIR) / "xla_cpu_pjrt.so";
  }
  void SetUp() override {
    if (!std::filesystem::exists(plugin())) {
      GTEST_SKIP() << "no CPU plugin: run tools/fetch_pjrt.sh";
    }
    if (client_ == nullptr) client_ = PjrtClient::create(plugin(), {{"cpu_device_count", 8}});
  }
  static void TearDownTestSuite() { client_.reset(); }

  static inline std::shared_ptr<PjrtClient> client_;
};

template <class T>
std::vector<T> elements(const PjrtBuffer& buffer) {
  const Tensor tensor = buffer.to_host();
  const auto values = tensor.values<T>();
  return {values.begin(), values.end()};
}

const TensorType kPair{DType::f32, {2}};
const TensorType kTriple{DType::f32, {3}};

std::string add_program(const std::string& type) {
  return "module @add {\n  func.func @main(%a: " + type + ", %b: " + type + ") -> " + type +
         " {\n    %sum = stablehlo.add %a, %b : " + type + "\n    return %sum : " + type +
         "\n  }\n}\n";
}

/// Sums f32[2] over groups of replicas, "[[0, 1], [2, 3]]".
std::string all_reduce_program(int replicas, const std::string& groups, const std::string& type) {
  return "module @reduce attributes {mhlo.num_replicas = " + std::to_string(replicas) +
         " : i32} {\n  func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
         "    %sum = \"stablehlo.all_reduce\"(%x) ({\n"
         "    ^bb0(%l: tensor<f32>, %r: tensor<f32>):\n"
         "      %s = stablehlo.add %l, %r : tensor<f32>\n"
         "      stablehlo.return %s : tensor<f32>\n"
         "    }) {replica_groups = dense<" +
         groups + "> : " + type +
         "} : (tensor<2xf32>) -> tensor<2xf32>\n    return %sum : tensor<2xf32>\n  }\n}\n";
}

TEST_F(Pjrt, TheClientDescribesThePlatformAndItsDevices) {
  EXPECT_EQ(client_->platform_name(), "cpu");
  EXPECT_EQ(client_->api_version().substr(0, 2), "0.");
  ASSERT_EQ(client_->devices().size(), 8u);
  EXPECT_EQ(client_->devices()[0].kind, "cpu");
  EXPECT_NE(client_->devices()[3].id, client_->devices()[4].id);
  EXPECT_FALSE(client_->devices()[7].description.empty());
}

TEST_F(Pjrt, AddsTwoVectors) {
  const auto program = client_->compile(add_program("tensor<3xf32>"), {kTriple, kTriple});
  EXPECT_EQ(program->devices(), std::vector<int>{0});
  ASSERT_EQ(program->outputs(), std::vector<TensorType>{kTriple});
  const auto a = client_->buffer_from_host(Tensor::of<float>({3}, {1, 2, 3}));
  const auto b = client_->buffer_from_host(Tensor::of<float>({3}, {10, 20, 30}));
  const auto outputs = program->execute({{a.get(), b.get()}});
  EXPECT_EQ(elements<float>(*outputs[0][0]), (std::vector<float>{11, 22, 33}));
  EXPECT_FALSE(a->consumed());
}

TEST_F(Pjrt, DoublePrecisionIsKept) {
  const auto program =
      client_->compile(add_program("tensor<2xf64>"), {{DType::f64, {2}}, {DType::f64, {2}}});
  const auto a = client_->buffer_from_host(Tensor::of<double>({2}, {1.0, 0x1p-40}));
  const auto b = client_->buffer_from_host(Tensor::of<double>({2}, {0x1p-52, 1.0}));
  const auto outputs = program->execute({{a.get(), b.get()}});
  EXPECT_EQ(elements<double>(*outputs[0][0]), (std::vector<double>{1.0 + 0x1p-52, 1.0 + 0x1p-40}));
}

TEST_F(Pjrt, EveryElementTypeSurvivesTheRoundTrip) {
  const std::vector<Tensor> tensors = {
      Tensor::of<double>({2}, {1.5, -0x1p-1000}),
      Tensor::of<float>({3, 1}, {1, 2, -0.5}),
      Tensor::of<BFloat16>({2}, {BFloat16(1.5f), BFloat16(-3e38f)}),
      Tensor::of<std::int32_t>({2}, {-5, 2147483647}),
      Tensor::scalar<std::uint32_t>(4294967295u),
      Tensor::of<std::uint8_t>({2, 3}, {0, 1, 2, 253, 254, 255}),
      Tensor::of<bool>({4}, {true, false, false, true}),
      Tensor(DType::f32, {0, 4}),
  };
  for (const Tensor& tensor : tensors) {
    const auto buffer = client_->buffer_from_host(tensor, 5);
    EXPECT_EQ(buffer->device(), 5);
    EXPECT_EQ(buffer->type(), tensor.type());
    EXPECT_TRUE(buffer->to_host().identical(tensor)) << tensor.type().str();
  }
}

TEST_F(Pjrt, TransposedOutputsComeBackRowMajor) {
  const auto program = client_->compile(
      "module @transpose { func.func @main(%x: tensor<2x3xi32>) -> tensor<3x2xi32> {\n"
      "  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>\n"
      "  return %t : tensor<3x2xi32> } }",
      {{DType::i32, {2, 3}}});
  const auto x = client_->buffer_from_host(Tensor::of<std::int32_t>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const auto outputs = program->execute({{x.get()}});
  EXPECT_EQ(elements<std::int32_t>(*outputs[0][0]), (std::vector<std::int32_t>{1, 4, 2, 5, 3, 6}));
}

TEST_F(Pjrt, DonatedStateIsUpdatedStepAfterStep) {
  const auto program = client_->compile(
      "module @step { func.func @main(%w: tensor<4xf32> {tf.aliasing_output = 1 : i32},"
      " %g: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>) {\n"
      "  %new = stablehlo.subtract %w, %g : tensor<4xf32>\n"
      "  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
      "  %sum = stablehlo.reduce(%new init: %zero) applies stablehlo.add across dimensions = [0]"
      " : (tensor<4xf32>, tensor<f32>) -> tensor<f32>\n"
      "  return %sum, %new : tensor<f32>, tensor<4xf32> } }",
      {{DType::f32, {4}}, {DType::f32, {4}}});
  auto state = client_->buffer_from_host(Tensor::of<float>({4}, {10, 20, 30, 40}));
  const auto gradient = client_->buffer_from_host(Tensor::of<float>({4}, {1, 2, 3, 4}));
  for (int step = 1; step <= 5; ++step) {
    auto outputs = program->execute({{state.get(), gradient.get()}});
    EXPECT_TRUE(state->consumed());
    EXPECT_FALSE(gradient->consumed());
    EXPECT_ERROR(state->to_host(), "a buffer f32[4] was donated");
    EXPECT_ERROR(program->execute({{state.get(), gradient.get()}}), "argument 0 (f32[4]) for");
    EXPECT_EQ(outputs[0][0]->to_host().item(), 100.0 - 10.0 * step);
    state = std::move(outputs[0][1]);
  }
  EXPECT_EQ(elements<float>(*state), (std::vector<float>{5, 10, 15, 20}));
}

TEST_F(Pjrt, AllReduceSumsOverTwoReplicas) {
  const auto program = client_->compile(all_reduce_program(2, "[[0, 1]]", "tensor<1x2xi64>"),
                                        {kPair}, {.num_replicas = 2});
  ASSERT_EQ(program->devices().size(), 2u);
  PjrtBuffers buffers;
  Arguments arguments;
  for (int replica = 0; replica < 2; ++replica) {
    buffers.push_back(client_->buffer_from_host(
        Tensor::of<float>({2}, {1.0f + replica, 10.0f * replica}), program->devices()[replica]));
    arguments.push_back({buffers.back().get()});
  }
  const auto outputs = program->execute(arguments);
  for (const auto& each : outputs) {
    EXPECT_EQ(elements<float>(*each[0]), (std::vector<float>{3, 10}));
  }
}

TEST_F(Pjrt, AllReduceOverGroupsOfEightReplicasSumsWithinEachGroup) {
  // The lists are in the order of the replicas: replica r holds 2^r.
  const auto program =
      client_->compile(all_reduce_program(8, "[[0, 2, 4, 6], [1, 3, 5, 7]]", "tensor<2x4xi64>"),
                       {kPair}, {.num_replicas = 8});
  PjrtBuffers buffers;
  Arguments arguments;
  for (int replica = 0; replica < 8; ++replica) {
    const auto value = static_cast<float>(1 << replica);
    buffers.push_back(client_->buffer_from_host(Tensor::of<float>({2}, {value, -value}),
                                                program->devices()[replica]));
    arguments.push_back({buffers.back().get()});
  }
  const auto outputs = program->execute(arguments);
  ASSERT_EQ(outputs.size(), 8u);
  for (int replica = 0; replica < 8; ++replica) {
    const float sum = replica % 2 == 0 ? 1 + 4 + 16 + 64 : 2 + 8 + 32 + 128;
    EXPECT_EQ(elements<float>(*outputs[replica][0]), (std::vector<float>{sum, -sum}));
  }
}

TEST_F(Pjrt, ExecutionsOnSeveralDevicesFollowOneAnotherWithoutWaitingForOutputs) {
  const auto program =
      client_->compile(all_reduce_program(8, "[[0, 1, 2, 3, 4, 5, 6, 7]]", "tensor<1x8xi64>"),
                       {kPair}, {.num_replicas = 8});
  PjrtBuffers first;
  Arguments arguments;
  for (int replica = 0; replica < 8; ++replica) {
    first.push_back(
        client_->buffer_from_host(Tensor::of<float>({2}, {1, 2}), program->devices()[replica]));
    arguments.push_back({first.back().get()});
  }
  std::vector<std::vector<PjrtBuffers>> outputs;
  for (int step = 0; step < 300; ++step) outputs.push_back(program->execute(arguments));
  for (const auto& step : outputs) {
    for (const auto& each : step) {
      EXPECT_EQ(elements<float>(*each[0]), (std::vector<float>{8, 16}));
    }
  }
}

TEST_F(Pjrt, ABadProgramIsRefusedWithTheCompilersReason) {
  EXPECT_ERROR(client_->compile("module { func.func @main() { return %nothing : f32 } }", {}),
               "use of undeclared SSA value name");
  EXPECT_ERROR(client_->compile("module {\n  func.func @main(%a: tensor<3xf32>, %b: tensor<4xf32>)"
                                " -> tensor<3xf32> {\n    %c = stablehlo.add %a, %b : "
                                "tensor<3xf32>\n    return %c : tensor<3xf32>\n  }\n}\n",
                                {kTriple, {DType::f32, {4}}}),
               "cannot compile the program: ");
  EXPECT_ERROR(client_->compile("", {}, {.num_replicas = 9}),
               "a program of 9 replicas x 1 partitions does not fit on the 8 devices of");
}

TEST_F(Pjrt, ArgumentsThatDoNotFitAreRefused) {
  const auto program = client_->compile(add_program("tensor<3xf32>"), {kTriple, kTriple});
  const auto a = client_->buffer_from_host(Tensor::of<float>({3}, {1, 2, 3}));
  const auto elsewhere = client_->buffer_from_host(Tensor::of<float>({3}, {1, 2, 3}), 1);
  const auto integers = client_->buffer_from_host(Tensor::of<std::int32_t>({3}, {1, 2, 3}));
  EXPECT_ERROR(program->execute({{a.get()}}), "the program takes 2 arguments, but there are 1 for");
  EXPECT_ERROR(program->execute({{a.get(), a.get(), a.get()}}),
               "the program takes 2 arguments, but there are 3 for");
  EXPECT_ERROR(program->execute({{a.get(), integers.get()}}),
               "is i32[3], the program takes f32[3]");
  EXPECT_ERROR(program->execute({{a.get(), elsewhere.get()}}), "argument 1 for");
  EXPECT_ERROR(program->execute({{a.get(), nullptr}}), "is not a buffer of the program's client");
  EXPECT_ERROR(program->execute({{a.get(), a.get()}, {a.get(), a.get()}}),
               "the program runs on 1 devices, but there are arguments for 2");
  EXPECT_ERROR(client_->buffer_from_host(Tensor(DType::f32, {3}), 8), "there is no device 8");
}

TEST_F(Pjrt, BuffersAndExecutablesOutliveTheHandleOfTheirClient) {
  auto client = PjrtClient::create(plugin(), {{"cpu_device_count", 1}});
  EXPECT_EQ(client->devices().size(), 1u);
  const auto program =
      client->compile(add_program("tensor<1xf32>"), {{DType::f32, {1}}, {DType::f32, {1}}});
  auto a = client->buffer_from_host(Tensor::of<float>({1}, {21}));
  client.reset();
  auto outputs = program->execute({{a.get(), a.get()}});
  a.reset();
  EXPECT_EQ(elements<float>(*outputs[0][0]), (std::vector<float>{42}));
}

TEST_F(Pjrt, AMissingFileOrALibraryThatIsNoPluginIsNamed) {
  EXPECT_ERROR(PjrtClient::create("/no/such/plugin.so"),
               "cannot load the plugin /no/such/plugin.so: No such file or directory");
  const TemporaryFolder folder;
  write_file(folder / "text.so", "not a library");
  EXPECT_ERROR(PjrtClient::create(folder / "text.so"), "text.so: file too short");
  Dl_info libc = {};
  ASSERT_NE(::dladdr(reinterpret_cast<void*>(&::strlen), &libc), 0);
  EXPECT_ERROR(PjrtClient::create(libc.dli_fname),
               "is no PJRT plugin: it does not export GetPjrtApi");
}

}  // namespace
}  // namespace toroid
