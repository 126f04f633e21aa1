#include "toroid/backends/host_io.h"

#include <limits>

#include "toroid/base/error.h"

namespace toroid {
namespace {

// The member of a batch by its name in graphs; null when there is none.
Tensor Batch::*batch_member(const std::string& name) {
  if (name == "images") return &Batch::images;
  if (name == "labels") return &Batch::labels;
  if (name == "ids") return &Batch::ids;
  if (name == "weights") return &Batch::weights;
  return nullptr;
}

DType batch_dtype(const std::string& name) {
  if (name == "images") return DType::u8;
  if (name == "labels") return DType::i32;
  if (name == "ids") return DType::u32;
  return DType::f32;
}

bool fits(DType held, DType wanted) {
  return held == wanted || (is_float(held) && is_float(wanted));
}

void check_batch_input(const Input& input) {
  if (batch_member(input.name) == nullptr) {
    fail("graph: batch input {} is unknown; known: images, labels, ids, weights", input.name);
  }
  const DType wanted = batch_dtype(input.name);
  if (!fits(wanted, input.type.dtype)) {
    fail("graph: batch input {} must be {}, is {}", input.name, name_of(wanted), input.type.str());
  }
}

void check_scalar_input(const Input& input) {
  const auto expect = [&](bool right, const char* wanted) {
    if (!right || !input.type.shape.is_scalar()) {
      fail("graph: scalar input {} must be {}, is {}", input.name, wanted, input.type.str());
    }
  };
  if (input.name == "learning_rate") {
    expect(is_float(input.type.dtype), "a float scalar");
  } else if (input.name == "step") {
    expect(input.type.dtype == DType::i32, "i32[]");
  } else if (input.name == "seed") {
    expect(input.type.dtype == DType::u32, "u32[]");
  } else {
    fail("graph: scalar input {} is unknown; known: learning_rate, step, seed", input.name);
  }
}

}  // namespace

void check_inputs(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    const auto* input = node.op.as<Input>();
    if (input == nullptr) continue;
    if (input->kind == InputKind::kBatch) check_batch_input(*input);
    if (input->kind == InputKind::kScalar) check_scalar_input(*input);
  }
}

const Batch* only_batch(const Graph& graph, std::span<const Batch> batches) {
  for (const Node& node : graph.nodes) {
    const auto* input = node.op.as<Input>();
    if (input == nullptr || input->kind != InputKind::kBatch) continue;
    if (batches.size() != 1) {
      fail(
          "batch: the graph takes {} of one batch per local replica (1 here), {} batches are given",
          input->name, batches.size());
    }
    return &batches[0];
  }
  return nullptr;
}

const Tensor& batch_tensor(const Input& input, const Batch& batch) {
  const Tensor& tensor = batch.*batch_member(input.name);
  if (tensor.shape() != input.type.shape || !fits(tensor.dtype(), input.type.dtype)) {
    fail("batch: {} must be {}, is {}", input.name,
         TensorType{batch_dtype(input.name), input.type.shape}.str(), tensor.type().str());
  }
  return tensor;
}

Tensor scalar_tensor(const Input& input, const Scalars& scalars) {
  Tensor value(input.type);
  set_scalar(input, scalars, value);
  return value;
}

void set_scalar(const Input& input, const Scalars& scalars, Tensor& value) {
  if (input.name == "learning_rate") {
    if (value.dtype() == DType::f64) {
      value.values<double>()[0] = scalars.learning_rate;
    } else if (value.dtype() == DType::f32) {
      value.values<float>()[0] = static_cast<float>(scalars.learning_rate);
    } else {
      value = Tensor::scalar(scalars.learning_rate).converted(value.dtype());
    }
  } else if (input.name == "step") {
    if (scalars.step < 0 || scalars.step > std::numeric_limits<std::int32_t>::max()) {
      fail("scalars: the step must fit i32 and not be negative, is {}", scalars.step);
    }
    value.values<std::int32_t>()[0] = static_cast<std::int32_t>(scalars.step);
  } else {
    value.values<std::uint32_t>()[0] =
        static_cast<std::uint32_t>(scalars.seed ^ (scalars.seed >> 32));
  }
}

}  // namespace toroid
