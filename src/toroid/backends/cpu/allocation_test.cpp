// Counts what a step allocates.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "toroid/backends/cpu/cpu.h"
#include "toroid/comm/self.h"
#include "toroid/ops/batch_norm.h"
#include "toroid/ops/conv2d.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/matmul.h"
#include "toroid/ops/max_pool.h"
#include "toroid/ops/relu.h"
#include "toroid/ops/sum.h"
#include "toroid/passes/autodiff.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<long> allocations{0}, largest{0};

[[maybe_unused]] void* counted(std::size_t bytes) {
  if (counting) {
    ++allocations;
    long seen = largest;
    while (static_cast<long>(bytes) > seen &&
           !largest.compare_exchange_weak(seen, static_cast<long>(bytes))) {
    }
  }
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// The sanitizers have operators of their own, which must stay whole: nothing is counted there.
#if defined(__SANITIZE_ADDRESS__)
#define TOROID_COUNTED false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TOROID_COUNTED false
#endif
#endif
#ifndef TOROID_COUNTED
#define TOROID_COUNTED true
void* operator new(std::size_t bytes) {
  return counted(bytes);
}
void* operator new[](std::size_t bytes) {
  return counted(bytes);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
#endif

namespace toroid {
namespace {

// One training step of a small network; without products, all of it runs in our own kernels.
Graph network(bool products) {
  Builder b;
  const TensorType kernel_type{DType::f32, Shape{3, 3, 16, 16}};
  Value x = b.input(InputKind::kState, "pictures", {DType::f32, Shape{8, 12, 12, 16}});
  std::vector<Value> parameters{b.input(InputKind::kState, "gamma", {DType::f32, Shape{16}})};
  if (products) {
    parameters.push_back(b.input(InputKind::kState, "kernel", kernel_type));
    x = conv2d(b, x, parameters.back(), {.padding = {1, 1, 1, 1}});
  }
  const BatchMoments moments = batch_norm_moments(b, x, {}, 1, 1);
  x = b.add(BatchNormApply{.beta = false, .count = true},
            {x, moments.mean, moments.variance, parameters[0], moments.count});
  x = max_pool(b, relu(b, x), {.window = {3, 3}, .stride = {2, 2}, .padding = {1, 1, 1, 1}});
  x = global_average_pool(b, x);
  if (products) {
    parameters.push_back(b.input(InputKind::kState, "dense", {DType::f32, Shape{16, 10}}));
    x = matmul(b, x, parameters.back());
  }
  const Value loss = sum(b, multiply(b, x, x));
  const Value rate = b.input(InputKind::kScalar, "learning_rate", {DType::f32, Shape{}});
  const auto gradient = gradients(b, loss, parameters);
  const char* names[] = {"gamma", "kernel", "dense"};
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    b.update(names[i], subtract(b, parameters[i], multiply(b, gradient[i], rate)));
  }
  b.output("loss", loss);
  return b.finish();
}

struct Count {
  long allocations, largest;
};

Count count_one_step(bool products) {
  SelfCommunicator communicator;
  const auto backend = make_cpu_backend(communicator, {.threads = 2});
  const Graph graph = network(products);
  const auto state = backend->create_state(state_schema(graph));
  const auto step = backend->compile(graph);
  for (int i = 0; i < 3; ++i) step->run(*state, {}, {.learning_rate = 0.1, .step = i});
  allocations = largest = 0;
  counting = true;
  step->run(*state, {}, {.learning_rate = 0.1, .step = 3});
  counting = false;
  return {allocations, largest};
}

TEST(Allocation, AStepInOurKernelsAllocatesNothing) {
  if (!TOROID_COUNTED) GTEST_SKIP() << "nothing is counted under sanitizers";
  EXPECT_EQ(count_one_step(false).allocations, 0);
}

// oneDNN keeps a few hundred bytes of its own book for each primitive that runs; buffers and
// compiled primitives would be far larger.
TEST(Allocation, AStepWithConvolutionsAllocatesNoBufferAndNoPrimitive) {
  if (!TOROID_COUNTED) GTEST_SKIP() << "nothing is counted under sanitizers";
  EXPECT_LT(count_one_step(true).largest, 1024);
}

TEST(Allocation, AThousandStepsHoldNoMoreMemoryThanTen) {
  if (!TOROID_COUNTED) GTEST_SKIP() << "mallinfo2 knows nothing of the sanitizers' memory";
  SelfCommunicator communicator;
  const auto backend = make_cpu_backend(communicator, {.threads = 2});
  const Graph graph = network(true);
  const auto state = backend->create_state(state_schema(graph));
  const auto step = backend->compile(graph);
  const auto held_after = [&](int steps) {
    for (int i = 0; i < steps; ++i) step->run(*state, {}, {.learning_rate = 0, .step = i});
    return ::mallinfo2().uordblks;
  };
  const auto before = held_after(10);
  EXPECT_LE(held_after(1000), before + 1024);
}

}  // namespace
}  // namespace toroid
