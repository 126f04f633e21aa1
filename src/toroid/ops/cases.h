// The list that the worked cases of the ops are added to; see registry.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "toroid/ops/collectives.h"
#include "toroid/ops/registry.h"

namespace toroid {

class Cases {
 public:
  explicit Cases(DType float_type) : float_(float_type) {}

  Operand normal(Shape shape) const { return {{float_, std::move(shape)}, Fill::kNormal}; }
  Operand positive(Shape shape) const { return {{float_, std::move(shape)}, Fill::kPositive}; }
  Operand distinct(Shape shape) const { return {{float_, std::move(shape)}, Fill::kDistinct}; }
  Operand mask(Shape shape) const { return {{float_, std::move(shape)}, Fill::kMask}; }
  static Operand labels(std::int64_t n, int bound) {
    return {{DType::i32, Shape{n}}, Fill::kLabels, bound};
  }

  // One op; the operands' positions that may be differentiated.
  void add(const Op& op, std::string label, std::vector<Operand> operands,
           std::vector<std::size_t> differentiable = {}) {
    const std::string name(op.name());
    cases_.push_back({name, std::move(label), std::move(operands),
                      [op](Builder& builder, const std::vector<Value>& inputs) {
                        return builder.add_all(op, inputs);
                      },
                      std::move(differentiable)});
  }

  // A collective start with its done; counted as a case of both.
  void add_collective(const Op& start, const std::vector<Operand>& operands) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < operands.size(); ++i) all.push_back(i);
    const auto build = [start](Builder& builder, const std::vector<Value>& inputs) {
      return builder.add_all(CollectiveDone{}, builder.add_all(start, inputs));
    };
    cases_.push_back({std::string(start.name()), "group of one", operands, build, all});
    cases_.push_back(
        {std::string(CollectiveDone::kName), std::string(start.name()), operands, build, all});
  }

  DType float_type() const { return float_; }
  std::vector<OpCase> take() { return std::move(cases_); }

 private:
  DType float_;
  std::vector<OpCase> cases_;
};

/// Convolutions and pools.
void add_window_cases(Cases& cases);

}  // namespace toroid
