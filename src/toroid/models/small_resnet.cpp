// The small residual networks of He et al., "Deep Residual Learning", 2015, section 4.2, for 28x28
// and 32x32 pictures: three stages of n blocks with 16, 32 and 64 filters, 6n + 2 layers. Shortcuts
// that change shape are 1x1 projections with batch norm (option B).
#include "toroid/models/networks.h"
#include "toroid/models/residual_block.h"

namespace toroid {
namespace {

Value small_resnet(Net& net, Value x, std::int64_t classes, int blocks) {
  x = net.conv("stem/conv", x, {.filters = 16});
  x = net.relu(net.batch_norm("stem/norm", x));
  for (int stage = 1; stage <= 3; ++stage) {
    for (int i = 1; i <= blocks; ++i) {
      const auto in_stage = net.scope("stage" + std::to_string(stage));
      const auto in_block = net.scope("block" + std::to_string(i));
      x = residual_block(
          net, x, {.filters = std::int64_t{8} << stage, .stride = stage > 1 && i == 1 ? 2 : 1});
    }
  }
  return net.classify(net.global_average_pool(x), classes);
}

}  // namespace

Value resnet8(Net& net, Value x, std::int64_t classes) {
  return small_resnet(net, x, classes, 1);
}
Value resnet14(Net& net, Value x, std::int64_t classes) {
  return small_resnet(net, x, classes, 2);
}
Value resnet20(Net& net, Value x, std::int64_t classes) {
  return small_resnet(net, x, classes, 3);
}

}  // namespace toroid
