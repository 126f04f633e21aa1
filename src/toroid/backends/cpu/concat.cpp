#include "toroid/ops/concat.h"

#include <cstring>

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"

namespace toroid::cpu {
namespace {

// A tensor along an axis as it lies in memory: an activation in blocks has its channels, in whole
// blocks, right after its examples.
AxisView stored_view(const Shape& shape, std::int64_t axis, Layout layout) {
  if (layout == Layout::kRowMajor) return {shape, axis};
  const Planes planes(shape, layout);
  return {Shape{planes.examples, planes.channels(), planes.pixels}, 1};
}

// A piece of each row of a tensor, in bytes.
struct Piece {
  std::int64_t stride;  // a row
  std::int64_t offset;  // of the piece in its row
};

void copy_piece(const std::byte* from, Piece source, std::byte* to, Piece target, std::int64_t row,
                std::int64_t bytes) {
  std::memcpy(to + row * target.stride + target.offset, from + row * source.stride + source.offset,
              static_cast<std::size_t>(bytes));
}

class ConcatKernel : public Kernel {
 public:
  explicit ConcatKernel(const NodeContext& context) {
    const std::int64_t axis = context.op<Concat>().axis;
    const Layout layout = context.output_layouts[0];
    const auto bytes = static_cast<std::int64_t>(size_of(context.outputs()[0].dtype));
    const AxisView y = stored_view(context.outputs()[0].shape, axis, layout);
    rows_ = y.rows;
    row_ = y.size * y.inner * bytes;
    for (const TensorType& input : context.inputs) {
      pieces_.push_back(stored_view(input.shape, axis, layout).size * y.inner * bytes);
    }
  }

  void run(const Arguments& arguments) override {
    parallel_ranges(rows_, row_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
          copy_piece(arguments.inputs[i], {pieces_[i], 0}, arguments.outputs[0], {row_, offset},
                     row, pieces_[i]);
          offset += pieces_[i];
        }
      }
    });
  }

 private:
  std::int64_t rows_, row_;
  std::vector<std::int64_t> pieces_;  // bytes of each operand's rows
};

class SliceKernel : public Kernel {
 public:
  explicit SliceKernel(const NodeContext& context) {
    const auto& op = context.op<Slice>();
    const auto bytes = static_cast<std::int64_t>(size_of(context.outputs()[0].dtype));
    const AxisView x = stored_view(context.inputs[0].shape, op.axis, context.input_layouts[0]);
    rows_ = x.rows;
    source_ = {x.size * x.inner * bytes, op.start * x.inner * bytes};
    piece_ = (op.limit - op.start) * x.inner * bytes;
  }

  void run(const Arguments& arguments) override {
    parallel_ranges(rows_, piece_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        copy_piece(arguments.inputs[0], source_, arguments.outputs[0], {piece_, 0}, row, piece_);
      }
    });
  }

 private:
  std::int64_t rows_, piece_;
  Piece source_;
};

}  // namespace

std::unique_ptr<Kernel> make_concat(const NodeContext& context) {
  return std::make_unique<ConcatKernel>(context);
}
std::unique_ptr<Kernel> make_slice(const NodeContext& context) {
  return std::make_unique<SliceKernel>(context);
}

}  // namespace toroid::cpu
