#include "toroid/ops/registry.h"

#include "toroid/base/random.h"
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
#include "toroid/ops/normalize_images.h"
#include "toroid/ops/relu.h"
#include "toroid/ops/softmax_cross_entropy.h"
#include "toroid/ops/sum.h"

namespace toroid {

const std::vector<std::string_view>& op_names() {
  static const std::vector<std::string_view> names{
      AddBias::kName,
      AllGatherStart::kName,
      AllReduceStart::kName,
      AvgPool::kName,
      AvgPoolGradient::kName,
      AxisIndex::kName,
      BatchNormApply::kName,
      BatchNormGradientSums::kName,
      BatchNormInputGradient::kName,
      BatchNormStatistics::kName,
      Binary::kName,
      Broadcast::kName,
      CollectiveDone::kName,
      Compare::kName,
      Concat::kName,
      Constant::kName,
      Conv2d::kName,
      Conv2dInputGradient::kName,
      Conv2dKernelGradient::kName,
      Convert::kName,
      Dropout::kName,
      InTopK::kName,
      IsFinite::kName,
      LocalResponseNorm::kName,
      LocalResponseNormGradient::kName,
      Matmul::kName,
      MaxPool::kName,
      MaxPoolGradient::kName,
      NormalizeImages::kName,
      ReduceScatterStart::kName,
      Relu::kName,
      ReluGradient::kName,
      Reshape::kName,
      Select::kName,
      Slice::kName,
      SoftmaxCrossEntropy::kName,
      SoftmaxCrossEntropyGradient::kName,
      Sum::kName,
      SumSquares::kName,
      Unary::kName,
  };
  return names;
}

namespace {

double draw(Random& random, const Operand& operand, const std::vector<std::uint32_t>& order,
            std::size_t i) {
  switch (operand.fill) {
    case Fill::kNormal:
      return random.normal();
    case Fill::kPositive:
      return random.uniform(0.5, 2.0);
    case Fill::kDistinct:
      return -2.0 + 4.0 * (order[i] + 0.5) / static_cast<double>(order.size());
    case Fill::kLabels:
      return random.below(static_cast<std::uint32_t>(operand.bound));
    case Fill::kMask:
      return i == 0 ? 1 : random.below(2);
    case Fill::kPixels:
      return random.below(256);
    case Fill::kBits:
      return random.below(2);
    case Fill::kWords:
      return random.next();
  }
  return 0;
}

}  // namespace

Tensor make_operand(const Operand& operand, std::uint64_t seed, std::uint32_t position) {
  Random random(seed, "operand", position);
  Tensor values(DType::f64, operand.type.shape);
  const auto elements = values.values<double>();
  const auto order =
      permutation(static_cast<std::uint32_t>(elements.size()), seed, "distinct", position);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = draw(random, operand, order, i);
  return values.converted(operand.type.dtype);
}

}  // namespace toroid
