// The floor of a training step's time on this machine: the bare oneDNN time of every convolution
// that the step's graph has (forward, gradients of input and kernel), by the direct algorithm, each
// tensor in the layout that oneDNN likes best. No batch norm, loss, update or change of layout.
//
//   conv_roofline [--model resnet50] [--size 224] [--batch 32] [--dtype f32|bf16] [--repeats 3]
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "toroid/base/error.h"
#include "toroid/models/model.h"
#include "toroid/ops/conv2d.h"
#include "toroid/train/step.h"

namespace toroid {
namespace {

using Clock = std::chrono::steady_clock;
using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;
using Memories = std::unordered_map<int, dnnl::memory>;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;
constexpr auto kTraining = dnnl::prop_kind::forward_training;

dnnl::memory::data_type data_type(DType dtype) {
  return dtype == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

// What oneDNN describes all three primitives with, in its order of dimensions, NCHW and OIHW. A
// bf16 convolution's kernel gradient is f32, but the kernel of its forward primitive, which oneDNN
// wants to know of, is bf16.
struct Problem {
  Desc x, kernel, forward_kernel, y;
  Dims stride, before, after;

  template <class ConvolutionOp>
  Problem(const ConvolutionOp& op, const TensorType& image, const TensorType& weights,
          const TensorType& result)
      : x(activation(image)),
        kernel(filters(weights, weights.dtype, op.groups)),
        forward_kernel(filters(weights, image.dtype, op.groups)),
        y(activation(result)),
        stride{op.stride[0], op.stride[1]},
        before{op.padding[0], op.padding[2]},
        after{op.padding[1], op.padding[3]} {}

 private:
  static Desc any(const Dims& dims, DType dtype) {
    return {dims, data_type(dtype), dnnl::memory::format_tag::any};
  }
  static Desc activation(const TensorType& type) {
    const Shape& s = type.shape;
    return any({s[0], s[3], s[1], s[2]}, type.dtype);
  }
  static Desc filters(const TensorType& type, DType dtype, std::int64_t groups) {
    const Shape& s = type.shape;
    if (groups == 1) return any({s[3], s[2], s[0], s[1]}, dtype);
    return any({groups, s[3] / groups, s[2], s[0], s[1]}, dtype);
  }
};

Forward::primitive_desc describe_forward(const dnnl::engine& engine, const Problem& p) {
  const Desc& kernel = p.forward_kernel;
#if DNNL_VERSION_MAJOR >= 3
  return {engine, kTraining, kDirect, p.x, kernel, p.y, p.stride, p.before, p.after};
#else
  return {Forward::desc(kTraining, kDirect, p.x, kernel, p.y, p.stride, p.before, p.after), engine};
#endif
}

// P is BackwardData or BackwardWeights, which take the same arguments in the same order.
template <class P>
typename P::primitive_desc describe_backward(const dnnl::engine& engine, const Problem& p) {
  const auto forward = describe_forward(engine, p);
#if DNNL_VERSION_MAJOR >= 3
  return {engine, kDirect, p.x, p.kernel, p.y, p.stride, p.before, p.after, forward};
#else
  const typename P::desc description(kDirect, p.x, p.kernel, p.y, p.stride, p.before, p.after);
  return {description, engine, forward};
#endif
}

// Numbers from 1/2 to 1 in bf16, and in f32 too, whose upper half is a bf16.
void fill(const dnnl::memory& memory) {
  auto* halves = static_cast<std::uint16_t*>(memory.get_data_handle());
  const std::size_t count = memory.get_desc().get_size() / sizeof(std::uint16_t);
  std::uint32_t random = 1;
  for (std::size_t i = 0; i < count; ++i) {
    random = random * 1664525 + 1013904223;  // Numerical Recipes' generator
    halves[i] = static_cast<std::uint16_t>(0x3f00 + (random >> 25));
  }
}

// Seconds, the median of `repeats` runs after a first one.
double time_primitive(const dnnl::engine& engine, const dnnl::primitive& primitive,
                      const std::map<int, Desc>& arguments, int repeats) {
  dnnl::stream stream(engine);
  Memories memories;
  for (const auto& [argument, description] : arguments) {
    fill(memories.emplace(argument, dnnl::memory(description, engine)).first->second);
  }
  std::vector<double> seconds;
  for (int i = 0; i <= repeats; ++i) {
    const auto start = Clock::now();
    primitive.execute(stream, memories);
    stream.wait();
    if (i > 0) seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

// Seconds of one convolution node; its operands and result are those of the op.
double time_node(const dnnl::engine& engine, const Op& op, Types in, const TensorType& out,
                 int repeats) {
  if (const auto* conv = op.as<Conv2d>()) {
    const Problem p(*conv, in[0], in[1], out);
    const auto d = describe_forward(engine, p);
    return time_primitive(engine, Forward(d),
                          {{DNNL_ARG_SRC, d.src_desc()},
                           {DNNL_ARG_WEIGHTS, d.weights_desc()},
                           {DNNL_ARG_DST, d.dst_desc()}},
                          repeats);
  }
  if (const auto* conv = op.as<Conv2dInputGradient>()) {
    const auto d = describe_backward<BackwardData>(engine, {*conv, out, in[1], in[0]});
    return time_primitive(engine, BackwardData(d),
                          {{DNNL_ARG_DIFF_DST, d.diff_dst_desc()},
                           {DNNL_ARG_WEIGHTS, d.weights_desc()},
                           {DNNL_ARG_DIFF_SRC, d.diff_src_desc()}},
                          repeats);
  }
  const auto& conv = *op.as<Conv2dKernelGradient>();
  const auto d = describe_backward<BackwardWeights>(engine, {conv, in[0], out, in[1]});
  return time_primitive(engine, BackwardWeights(d),
                        {{DNNL_ARG_SRC, d.src_desc()},
                         {DNNL_ARG_DIFF_DST, d.diff_dst_desc()},
                         {DNNL_ARG_DIFF_WEIGHTS, d.diff_weights_desc()}},
                        repeats);
}

bool is_convolution(const Op& op) {
  return op.as<Conv2d>() != nullptr || op.as<Conv2dInputGradient>() != nullptr ||
         op.as<Conv2dKernelGradient>() != nullptr;
}

// Work of one kind: all nodes of an op, or of the step.
struct Work {
  int nodes = 0;
  double seconds = 0, gflops = 0;

  std::string rate() const {
    return fmt::format("{:9.1f} ms  {:7.1f} GFLOP/s", seconds * 1e3, gflops / seconds);
  }
};

// By op. Nodes of the same types and attributes are timed once.
std::map<std::string, Work> time_convolutions(const Graph& graph, int repeats) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  std::map<std::string, double> known;
  std::map<std::string, Work> by_op;
  for (const Node& node : graph.nodes) {
    if (!is_convolution(node.op)) continue;
    std::vector<TensorType> in;
    std::string key = fmt::format("{} {}", node.op.name(), node.op.attributes());
    for (const Value value : node.inputs) {
      in.push_back(graph.type(value));
      key += " " + in.back().str();
    }
    auto found = known.find(key);
    if (found == known.end()) {
      const double seconds = time_node(engine, node.op, in, node.types[0], repeats);
      found = known.emplace(key, seconds).first;
    }
    Work& work = by_op[std::string(node.op.name())];
    ++work.nodes;
    work.seconds += found->second;
    work.gflops += node.op.cost(in, node.types).flops / 1e9;
  }
  return by_op;
}

struct Flags {
  StepOptions step{.model = "resnet50", .classes = 1000, .channels = 3, .global_batch = 32};
  std::int64_t size = 224;
  std::string dtype = "f32";
  int repeats = 3;
};

void run(Flags flags) {
  StepOptions& step = flags.step;
  step.model = find_model(step.model).name;
  step.image_height = step.image_width = flags.size;
  step.batch_norm_batch = step.global_batch;
  step.bf16 = flags.dtype == "bf16";
  step.optimizer = {.name = "sgd", .momentum = 0.9};
  const auto by_op = time_convolutions(build_train_graph(step, false), flags.repeats);
  if (by_op.empty()) fail("{} has no convolutions", step.model);
  Work all;
  for (const auto& [op, work] : by_op) {
    fmt::print("{:24} {:4} nodes {}\n", op, work.nodes, work.rate());
    all.nodes += work.nodes;
    all.seconds += work.seconds;
    all.gflops += work.gflops;
  }
  fmt::print("{:24} {:4} nodes {}\n", "all convolutions", all.nodes, all.rate());
  fmt::print("{} {}x{} batch {} {}, convolutions alone: {:.2f} images/s\n", step.model, flags.size,
             flags.size, step.global_batch, flags.dtype,
             static_cast<double>(step.global_batch) / all.seconds);
}

void add_options(CLI::App& app, Flags& flags) {
  app.add_option("--model", flags.step.model, "a model (toroid models)")->capture_default_str();
  app.add_option("--size", flags.size, "height and width of the pictures")
      ->check(CLI::Range(1, 1 << 14))
      ->capture_default_str();
  app.add_option("--channels", flags.step.channels, "1 or 3")
      ->check(CLI::IsMember({1, 3}))
      ->capture_default_str();
  app.add_option("--batch", flags.step.global_batch, "examples a step")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--dtype", flags.dtype, "f32 or bf16")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
  app.add_option("--repeats", flags.repeats, "timed runs of each convolution; the median counts")
      ->check(CLI::Range(1, 1 << 10))
      ->capture_default_str();
}

}  // namespace
}  // namespace toroid

int main(int argc, char** argv) {
  toroid::Flags flags;
  CLI::App app("The bare oneDNN time of a training step's convolutions", "conv_roofline");
  toroid::add_options(app, flags);
  CLI11_PARSE(app, argc, argv);
  try {
    toroid::run(flags);
    return 0;
  } catch (const std::exception& error) {  // toroid::Error, dnnl::error
    fmt::print(stderr, "conv_roofline: {}\n", error.what());
    return 1;
  }
}
