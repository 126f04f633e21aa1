#include "toroid/backends/reference/kernels.h"

#include <map>

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

namespace toroid::reference {

Kernel find_kernel(std::string_view op) {
  static const std::map<std::string_view, Kernel> kernels{
      {AddBias::kName, add_bias},
      {AllGatherStart::kName, all_gather_start},
      {AllReduceStart::kName, all_reduce_start},
      {AvgPool::kName, avg_pool},
      {AvgPoolGradient::kName, avg_pool_gradient},
      {AxisIndex::kName, axis_index},
      {BatchNormApply::kName, batch_norm_apply},
      {BatchNormGradientSums::kName, batch_norm_gradient_sums},
      {BatchNormInputGradient::kName, batch_norm_input_gradient},
      {BatchNormStatistics::kName, batch_norm_statistics},
      {Binary::kName, binary},
      {Broadcast::kName, broadcast},
      {CollectiveDone::kName, collective_done},
      {Compare::kName, compare},
      {Concat::kName, concat},
      {Constant::kName, constant},
      {Conv2d::kName, conv2d},
      {Conv2dInputGradient::kName, conv2d_input_gradient},
      {Conv2dKernelGradient::kName, conv2d_kernel_gradient},
      {Convert::kName, convert},
      {Dropout::kName, dropout},
      {InTopK::kName, in_top_k},
      {IsFinite::kName, is_finite},
      {LocalResponseNorm::kName, local_response_norm},
      {LocalResponseNormGradient::kName, local_response_norm_gradient},
      {Matmul::kName, matmul},
      {MaxPool::kName, max_pool},
      {MaxPoolGradient::kName, max_pool_gradient},
      {NormalizeImages::kName, normalize_images},
      {ReduceScatterStart::kName, reduce_scatter_start},
      {Relu::kName, relu},
      {ReluGradient::kName, relu_gradient},
      {Reshape::kName, reshape},
      {Select::kName, select},
      {Slice::kName, slice},
      {SoftmaxCrossEntropy::kName, softmax_cross_entropy},
      {SoftmaxCrossEntropyGradient::kName, softmax_cross_entropy_gradient},
      {Sum::kName, sum},
      {SumSquares::kName, sum_squares},
      {Unary::kName, unary},
  };
  const auto found = kernels.find(op);
  return found == kernels.end() ? nullptr : found->second;
}

}  // namespace toroid::reference
