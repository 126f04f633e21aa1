#include "toroid/ops/concat.h"

#include <cstring>

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"

namespace toroid::cpu {
namespace {

// A piece of each row of a tensor.
struct Piece {
  std::int64_t stride;  // elements of a row
  std::int64_t offset;  // of the piece in its row
};

void copy_piece(const float* from, Piece source, float* to, Piece target, std::int64_t row,
                std::int64_t elements) {
  std::memcpy(to + row * target.stride + target.offset, from + row * source.stride + source.offset,
              static_cast<std::size_t>(elements) * sizeof(float));
}

class ConcatKernel : public Kernel {
 public:
  explicit ConcatKernel(const NodeContext& context) {
    const std::int64_t axis = context.op<Concat>().axis;
    const AxisView y(context.outputs()[0].shape, axis);
    rows_ = y.rows;
    row_ = y.size * y.inner;
    for (const TensorType& input : context.inputs) {
      pieces_.push_back(AxisView(input.shape, axis).size * y.inner);
    }
  }

  void run(const Arguments& arguments) override {
    auto* y = arguments.output<float>();
    parallel_ranges(rows_, row_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < pieces_.size(); ++i) {
          copy_piece(arguments.input<float>(i), {pieces_[i], 0}, y, {row_, offset}, row,
                     pieces_[i]);
          offset += pieces_[i];
        }
      }
    });
  }

 private:
  std::int64_t rows_, row_;
  std::vector<std::int64_t> pieces_;  // elements of each operand's rows
};

class SliceKernel : public Kernel {
 public:
  explicit SliceKernel(const NodeContext& context) {
    const auto& op = context.op<Slice>();
    const AxisView x(context.inputs[0].shape, op.axis);
    rows_ = x.rows;
    source_ = {x.size * x.inner, op.start * x.inner};
    elements_ = (op.limit - op.start) * x.inner;
  }

  void run(const Arguments& arguments) override {
    const auto* x = arguments.input<float>(0);
    auto* y = arguments.output<float>();
    parallel_ranges(rows_, elements_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        copy_piece(x, source_, y, {elements_, 0}, row, elements_);
      }
    });
  }

 private:
  std::int64_t rows_, elements_;
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
