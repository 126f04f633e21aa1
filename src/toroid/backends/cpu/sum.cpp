#include "toroid/ops/sum.h"

#include <cstring>

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"

namespace toroid::cpu {
namespace {

// Rows that are added in f32 before the sum goes on in f64.
constexpr std::int64_t kBlock = 64;

// A tensor as [outer, middle, inner] where the middle is summed (or repeated); `regular` is false
// when its axes do not lie together like that.
struct Axes {
  std::int64_t outer = 1, middle = 1, inner = 1;
  bool regular = true;

  // An activation of any layout, over its pixels: blocks are as good as examples.
  explicit Axes(const Planes& planes)
      : outer(planes.examples * planes.blocks), middle(planes.pixels), inner(planes.width) {}

  Axes(const Shape& shape, const std::vector<std::int64_t>& axes) {
    std::vector<bool> chosen(static_cast<std::size_t>(shape.rank()), false);
    for (const std::int64_t axis : axes) chosen[static_cast<std::size_t>(axis)] = true;
    bool seen = false, passed = false;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == 1) continue;
      if (chosen[static_cast<std::size_t>(axis)]) {
        if (passed) regular = false;
        seen = true;
        middle *= shape[axis];
      } else {
        passed = seen;
        (seen ? inner : outer) *= shape[axis];
      }
    }
  }
};

// For each axis of `shape`, how far a step along it moves in a row-major tensor of the other axes;
// 0 for the given ones.
std::vector<std::int64_t> strides_without(const Shape& shape,
                                          const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(shape.rank()), 0);
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= shape[axis];
  }
  return strides;
}

// Calls f(i, j) for each element i of `shape` in order, j its place in the tensor of the strides.
template <class F>
void for_each_element(const Shape& shape, const std::vector<std::int64_t>& strides, F&& f) {
  std::vector<std::int64_t> index(strides.size(), 0);
  std::int64_t place = 0;
  const std::int64_t elements = shape.elements();
  for (std::int64_t i = 0; i < elements; ++i) {
    f(i, place);
    for (std::size_t axis = strides.size(); axis-- > 0;) {
      place += strides[axis];
      if (++index[axis] < shape[static_cast<int>(axis)]) break;
      place -= strides[axis] * index[axis];
      index[axis] = 0;
    }
  }
}

TOROID_CLONES double sum_row(const float* x, std::int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]);
  return sum;
}

TOROID_CLONES double square_row(const float* x, std::int64_t count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum;
}

// sums[c] = sum over the rows of x[r,c]; `block` has room for one row.
TOROID_CLONES void sum_columns(const float* x, std::int64_t rows, std::int64_t columns,
                               float* block, double* sums) {
  std::fill_n(sums, columns, 0.0);
  for (std::int64_t first = 0; first < rows; first += kBlock) {
    const std::int64_t last = std::min(first + kBlock, rows);
    std::fill_n(block, columns, 0.0F);
    for (std::int64_t r = first; r < last; ++r) {
      const float* row = x + r * columns;
#pragma omp simd
      for (std::int64_t c = 0; c < columns; ++c) block[c] += row[c];
    }
#pragma omp simd
    for (std::int64_t c = 0; c < columns; ++c) sums[c] += static_cast<double>(block[c]);
  }
}

// Each [outer] slice's middle is cut into parts; a part's sums lie at
// [outer, part, inner] in scratch, in double.
class SumKernel : public Kernel {
 public:
  explicit SumKernel(const Axes& axes)
      : axes_(axes),
        parts_(std::min(axes_.middle, reduction_parts(axes_.middle * axes_.inner))),
        part_bytes_(aligned(static_cast<std::size_t>(axes_.inner) * sizeof(double))) {}

  void run(const Arguments& arguments) override {
    const std::int64_t tasks = axes_.outer * parts_;
    const auto* x = arguments.input<float>(0);
    parallel_ranges(tasks, axes_.middle * axes_.inner / std::max<std::int64_t>(parts_, 1),
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t t = first; t < last; ++t) part(x, t, arguments);
                    });
    auto* y = arguments.output<float>();
    for (std::int64_t o = 0; o < axes_.outer; ++o) {
      for (std::int64_t i = 0; i < axes_.inner; ++i) {
        double sum = 0;
        for (std::int64_t p = 0; p < parts_; ++p) sum += sums(arguments, o * parts_ + p)[i];
        y[o * axes_.inner + i] = static_cast<float>(sum);
      }
    }
  }
  std::size_t scratch_bytes() const override {
    return 2 * static_cast<std::size_t>(axes_.outer * parts_) * part_bytes_;
  }

 private:
  double* sums(const Arguments& arguments, std::int64_t task) const {
    return arguments.scratch_at<double>(2 * static_cast<std::size_t>(task) * part_bytes_);
  }

  void part(const float* x, std::int64_t task, const Arguments& arguments) const {
    const std::int64_t o = task / parts_, p = task % parts_;
    const std::int64_t first = axes_.middle * p / parts_, last = axes_.middle * (p + 1) / parts_;
    const float* from = x + (o * axes_.middle + first) * axes_.inner;
    double* to = sums(arguments, task);
    if (axes_.inner == 1) {
      *to = sum_row(from, last - first);
    } else {
      auto* block = reinterpret_cast<float*>(reinterpret_cast<std::byte*>(to) + part_bytes_);
      sum_columns(from, last - first, axes_.inner, block, to);
    }
  }

  Axes axes_;
  std::int64_t parts_;
  std::size_t part_bytes_;
};

// Sums an activation in blocks over its examples and pixels: [N,H,W,C] -> [C].
class ChannelSumKernel : public Kernel {
 public:
  explicit ChannelSumKernel(const Planes& planes) : planes_(planes) {}

  void run(const Arguments& arguments) override {
    const auto* x = arguments.input<float>(0);
    auto* y = arguments.output<float>();
    const std::int64_t width = planes_.width;
    parallel_ranges(planes_.blocks, planes_.examples * planes_.pixels * width,
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t b = first; b < last; ++b) {
                        sum_block(x, b, scratch(arguments, b), y + b * width);
                      }
                    });
  }
  std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(planes_.channels()) * (2 * sizeof(double) + sizeof(float));
  }

 private:
  // Room for one block's two rows of doubles and one of floats.
  std::byte* scratch(const Arguments& arguments, std::int64_t block) const {
    return arguments.scratch +
           static_cast<std::size_t>(block * planes_.width) * (2 * sizeof(double) + sizeof(float));
  }

  void sum_block(const float* x, std::int64_t block, std::byte* room, float* y) const {
    const std::int64_t width = planes_.width;
    auto *total = reinterpret_cast<double*>(room), *sums = total + width;
    auto* row = reinterpret_cast<float*>(sums + width);
    std::fill_n(total, width, 0.0);
    for (std::int64_t n = 0; n < planes_.examples; ++n) {
      sum_columns(x + planes_.at(n, block, 0), planes_.pixels, width, row, sums);
      for (std::int64_t c = 0; c < width; ++c) total[c] += sums[c];
    }
    for (std::int64_t c = 0; c < width; ++c) y[c] = static_cast<float>(total[c]);
  }

  Planes planes_;
};

// Sums over axes that lie apart: element by element.
class ScatteredSumKernel : public Kernel {
 public:
  explicit ScatteredSumKernel(const NodeContext& context)
      : shape_(context.inputs[0].shape),
        strides_(strides_without(shape_, context.op<Sum>().axes)),
        sums_(static_cast<std::size_t>(context.outputs()[0].elements())) {}

  void run(const Arguments& arguments) override {
    const auto* x = arguments.input<float>(0);
    auto* sums = arguments.scratch_at<double>();
    std::fill_n(sums, sums_, 0.0);
    for_each_element(shape_, strides_,
                     [&](std::int64_t i, std::int64_t j) { sums[j] += static_cast<double>(x[i]); });
    auto* y = arguments.output<float>();
    for (std::size_t i = 0; i < sums_; ++i) y[i] = static_cast<float>(sums[i]);
  }
  std::size_t scratch_bytes() const override { return sums_ * sizeof(double); }

 private:
  Shape shape_;
  std::vector<std::int64_t> strides_;
  std::size_t sums_;
};

class BroadcastKernel : public Kernel {
 public:
  explicit BroadcastKernel(const NodeContext& context)
      : shape_(context.outputs()[0].shape),
        axes_(context.output_layouts[0] == Layout::kRowMajor
                  ? Axes(shape_, context.op<Broadcast>().axes)
                  : Axes(Planes(shape_, context.output_layouts[0]))),
        strides_(strides_without(shape_, context.op<Broadcast>().axes)) {}

  void run(const Arguments& arguments) override {
    const auto* x = arguments.input<float>(0);
    auto* y = arguments.output<float>();
    if (!axes_.regular) {
      for_each_element(shape_, strides_, [&](std::int64_t i, std::int64_t j) { y[i] = x[j]; });
      return;
    }
    const std::int64_t inner = axes_.inner;
    if (inner == 1) {
      parallel_ranges(axes_.outer, axes_.middle, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t o = first; o < last; ++o) {
          std::fill_n(y + o * axes_.middle, axes_.middle, x[o]);
        }
      });
      return;
    }
    parallel_ranges(axes_.outer * axes_.middle, inner, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t r = first; r < last; ++r) {
        std::copy_n(x + r / axes_.middle * inner, inner, y + r * inner);
      }
    });
  }

 private:
  Shape shape_;
  Axes axes_;
  std::vector<std::int64_t> strides_;
};

// Chunks of all operands, each summed in double; then the chunks in order.
class SumSquaresKernel : public Kernel {
 public:
  explicit SumSquaresKernel(const NodeContext& context) {
    constexpr std::int64_t kChunk = 16384;
    for (std::size_t i = 0; i < context.inputs.size(); ++i) {
      const std::int64_t elements = context.inputs[i].elements();
      for (std::int64_t first = 0; first < elements; first += kChunk) {
        chunks_.push_back({i, first, std::min(kChunk, elements - first)});
      }
      elements_ += elements;
    }
  }

  void run(const Arguments& arguments) override {
    auto* sums = arguments.scratch_at<double>();
    const auto count = static_cast<std::int64_t>(chunks_.size());
    parallel_ranges(count, elements_ / std::max<std::int64_t>(count, 1),
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t i = first; i < last; ++i) {
                        const Chunk& chunk = chunks_[static_cast<std::size_t>(i)];
                        sums[i] = square_row(arguments.input<float>(chunk.input) + chunk.first,
                                             chunk.elements);
                      }
                    });
    double total = 0;
    for (std::int64_t i = 0; i < count; ++i) total += sums[i];
    *arguments.output<float>() = static_cast<float>(total);
  }
  std::size_t scratch_bytes() const override { return chunks_.size() * sizeof(double); }

 private:
  struct Chunk {
    std::size_t input;
    std::int64_t first, elements;
  };
  std::vector<Chunk> chunks_;
  std::int64_t elements_ = 0;
};

// The elements stay where they are.
class ReshapeKernel : public Kernel {
 public:
  void run(const Arguments&) override {}
  Reuse reuse(std::size_t, std::size_t) const override { return Reuse::kSame; }
};

}  // namespace

std::unique_ptr<Kernel> make_sum(const NodeContext& context) {
  const auto& op = context.op<Sum>();
  if (context.input_layouts[0] != Layout::kRowMajor) {
    const Planes planes(context.inputs[0].shape, context.input_layouts[0]);
    if (op.axes.size() == 3) return std::make_unique<ChannelSumKernel>(planes);
    return std::make_unique<SumKernel>(Axes(planes));
  }
  const Axes axes(context.inputs[0].shape, op.axes);
  if (!axes.regular) return std::make_unique<ScatteredSumKernel>(context);
  return std::make_unique<SumKernel>(axes);
}
std::unique_ptr<Kernel> make_broadcast(const NodeContext& context) {
  return std::make_unique<BroadcastKernel>(context);
}
std::unique_ptr<Kernel> make_sum_squares(const NodeContext& context) {
  return std::make_unique<SumSquaresKernel>(context);
}
std::unique_ptr<Kernel> make_reshape(const NodeContext&) {
  return std::make_unique<ReshapeKernel>();
}

}  // namespace toroid::cpu
