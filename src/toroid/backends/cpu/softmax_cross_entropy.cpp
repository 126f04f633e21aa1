#include "toroid/ops/softmax_cross_entropy.h"

#include <cmath>

#include "toroid/backends/cpu/kernels.h"
#include "toroid/backends/cpu/parallel.h"
#include "toroid/base/error.h"

namespace toroid::cpu {
namespace {

// An exponential is worth about this many plain operations.
constexpr std::int64_t kExpCost = 16;

void check_labels(const std::int32_t* labels, std::int64_t examples, std::int64_t classes) {
  for (std::int64_t i = 0; i < examples; ++i) {
    if (labels[i] < 0 || labels[i] >= classes) {
      fail("the label of example {} of the batch must be in 0..{}, is {}", i, classes - 1,
           labels[i]);
    }
  }
}

// The largest logit and log(sum(exp(logit - largest))). Double: the loss is a difference of
// numbers of one size, and there are few classes.
struct LogSum {
  double largest, log_sum;

  LogSum(const float* logits, std::int64_t classes) : largest(logits[0]), log_sum(0) {
    for (std::int64_t k = 1; k < classes; ++k) largest = std::max<double>(largest, logits[k]);
    double sum = 0;
    for (std::int64_t k = 0; k < classes; ++k) sum += std::exp(logits[k] - largest);
    log_sum = std::log(sum);
  }
};

class LossKernel : public Kernel {
 public:
  explicit LossKernel(const NodeContext& context)
      : examples_(context.inputs[0].shape[0]),
        classes_(context.inputs[0].shape[1]),
        smoothing_(context.op<SoftmaxCrossEntropy>().label_smoothing) {}

  void run(const Arguments& arguments) override {
    const auto* logits = arguments.input<float>(0);
    const auto* labels = arguments.input<std::int32_t>(1);
    auto* loss = arguments.output<float>();
    check_labels(labels, examples_, classes_);
    parallel_ranges(examples_, classes_ * kExpCost, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t n = first; n < last; ++n) {
        loss[n] = static_cast<float>(example(logits + n * classes_, labels[n]));
      }
    });
  }

 private:
  double example(const float* logits, std::int32_t label) const {
    const LogSum of(logits, classes_);
    const double hard = of.log_sum - (logits[label] - of.largest);
    if (smoothing_ == 0) return hard;
    double soft = 0;
    for (std::int64_t k = 0; k < classes_; ++k) soft += of.log_sum - (logits[k] - of.largest);
    return (1 - smoothing_) * hard + smoothing_ * soft / static_cast<double>(classes_);
  }

  std::int64_t examples_, classes_;
  double smoothing_;
};

class LossGradientKernel : public Kernel {
 public:
  explicit LossGradientKernel(const NodeContext& context)
      : examples_(context.inputs[0].shape[0]),
        classes_(context.inputs[0].shape[1]),
        smoothing_(context.op<SoftmaxCrossEntropyGradient>().label_smoothing) {}

  void run(const Arguments& arguments) override {
    const auto* logits = arguments.input<float>(0);
    const auto* labels = arguments.input<std::int32_t>(1);
    const auto* dloss = arguments.input<float>(2);
    auto* dlogits = arguments.output<float>();
    check_labels(labels, examples_, classes_);
    parallel_ranges(examples_, classes_ * kExpCost, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t n = first; n < last; ++n) {
        example(logits + n * classes_, labels[n], dloss[n], dlogits + n * classes_);
      }
    });
  }
  Reuse reuse(std::size_t input, std::size_t) const override {
    return input == 0 ? Reuse::kOverwrite : Reuse::kNone;
  }

 private:
  void example(const float* logits, std::int32_t label, double dloss, float* dlogits) const {
    const LogSum of(logits, classes_);
    const double everywhere = smoothing_ / static_cast<double>(classes_);
    for (std::int64_t k = 0; k < classes_; ++k) {
      const double target = everywhere + (k == label ? 1 - smoothing_ : 0);
      const double softmax = std::exp(logits[k] - of.largest - of.log_sum);
      dlogits[k] = static_cast<float>(dloss * (softmax - target));
    }
  }

  std::int64_t examples_, classes_;
  double smoothing_;
};

class InTopKKernel : public Kernel {
 public:
  explicit InTopKKernel(const NodeContext& context)
      : examples_(context.inputs[0].shape[0]),
        classes_(context.inputs[0].shape[1]),
        k_(context.op<InTopK>().k) {}

  void run(const Arguments& arguments) override {
    const auto* logits = arguments.input<float>(0);
    const auto* labels = arguments.input<std::int32_t>(1);
    auto* y = arguments.output<float>();
    check_labels(labels, examples_, classes_);
    parallel_ranges(examples_, classes_, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t n = first; n < last; ++n) {
        y[n] = classes_before(logits + n * classes_, labels[n]) < k_ ? 1.0F : 0.0F;
      }
    });
  }

 private:
  std::int64_t classes_before(const float* logits, std::int32_t label) const {
    const float own = logits[label];
    if (std::isnan(own)) return classes_;
    std::int64_t before = 0;
    for (std::int64_t k = 0; k < classes_; ++k) {
      before += logits[k] > own || (logits[k] == own && k < label);
    }
    return before;
  }

  std::int64_t examples_, classes_, k_;
};

}  // namespace

std::unique_ptr<Kernel> make_softmax_cross_entropy(const NodeContext& context) {
  return std::make_unique<LossKernel>(context);
}
std::unique_ptr<Kernel> make_softmax_cross_entropy_gradient(const NodeContext& context) {
  return std::make_unique<LossGradientKernel>(context);
}
std::unique_ptr<Kernel> make_in_top_k(const NodeContext& context) {
  return std::make_unique<InTopKKernel>(context);
}

}  // namespace toroid::cpu
