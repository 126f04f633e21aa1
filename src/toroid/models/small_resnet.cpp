// The small residual networks of He et al., "Deep Residual Learning", 2015, section 4.2, for 28x28
// and 32x32 pictures: three stages of n blocks with 16, 32 and 64 filters, 6n + 2 layers. Shortcuts
// that change shape are 1x1 projections with batch norm (option B).
#include "toroid/models/networks.h"

namespace toroid {
namespace {

Value block(Net& net, Value x, std::int64_t filters, std::int64_t stride) {
  Value shortcut = x;
  Value y = net.conv("conv1", x, {.filters = filters, .stride = {stride, stride}});
  y = net.relu(net.batch_norm("norm1", y));
  y = net.conv("conv2", y, {.filters = filters});
  y = net.batch_norm("norm2", y, {.zero_gamma = net.options().zero_init_last_gamma});
  if (stride != 1 || net.shape(x).back() != filters) {
    shortcut = net.conv("shortcut/conv", x,
                        {.filters = filters, .kernel = {1, 1}, .stride = {stride, stride}});
    shortcut = net.batch_norm("shortcut/norm", shortcut);
  }
  return net.relu(net.add(y, shortcut));
}

Value small_resnet(Net& net, Value x, std::int64_t classes, int blocks) {
  x = net.conv("stem/conv", x, {.filters = 16});
  x = net.relu(net.batch_norm("stem/norm", x));
  for (int stage = 1; stage <= 3; ++stage) {
    for (int i = 1; i <= blocks; ++i) {
      const auto in_stage = net.scope("stage" + std::to_string(stage));
      const auto in_block = net.scope("block" + std::to_string(i));
      x = block(net, x, std::int64_t{8} << stage, stage > 1 && i == 1 ? 2 : 1);
    }
  }
  return net.dense("classifier", net.global_average_pool(x), classes);
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
