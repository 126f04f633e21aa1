// Residual networks for ImageNet: He et al., "Deep Residual Learning", 2015, table 1, in the form
// "v1.5" (Goyal et al., 2017), where the 3x3 convolution of a bottleneck has the stride:
//
//   stem    7x7, 64, stride 2; 3x3 max pool, stride 2
//                 blocks of ResNet-  18  34  50 101 152
//   stage1   64 filters               2   3   3   3   3
//   stage2  128 filters, stride 2     2   4   4   4   8
//   stage3  256 filters, stride 2     2   6   6  23  36
//   stage4  512 filters, stride 2     2   3   3   3   3
//           global average pool, classifier
//
// Blocks of n filters are [3x3, n; 3x3, n] in ResNet-18 and 34, [1x1, n; 3x3, n; 1x1, 4n] in the
// deeper ones.
//
// Padding is the same on all sides (3 for the stem, 1 for 3x3), as in torchvision, so that its
// weights give the same network.
#include "toroid/models/networks.h"
#include "toroid/models/residual_block.h"

namespace toroid {
namespace {

using Blocks = std::array<int, 4>;  // of each stage

Value resnet(Net& net, Value x, std::int64_t classes, const Blocks& blocks, bool bottleneck) {
  x = net.conv("stem/conv", x,
               {.filters = 64, .kernel = {7, 7}, .stride = {2, 2}, .padding = Padding{3, 3, 3, 3}});
  x = net.relu(net.batch_norm("stem/norm", x));
  x = net.max_pool(x, {.window = {3, 3}, .stride = {2, 2}, .padding = {1, 1, 1, 1}});
  for (int stage = 1; stage <= 4; ++stage) {
    for (int i = 1; i <= blocks[static_cast<std::size_t>(stage - 1)]; ++i) {
      const auto in_stage = net.scope("stage" + std::to_string(stage));
      const auto in_block = net.scope("block" + std::to_string(i));
      x = residual_block(net, x,
                         {.filters = std::int64_t{32} << stage,
                          .stride = stage > 1 && i == 1 ? 2 : 1,
                          .bottleneck = bottleneck,
                          .padding = Padding{1, 1, 1, 1}});
    }
  }
  return net.classify(net.global_average_pool(x), classes);
}

}  // namespace

Value resnet18(Net& net, Value x, std::int64_t classes) {
  return resnet(net, x, classes, {2, 2, 2, 2}, false);
}
Value resnet34(Net& net, Value x, std::int64_t classes) {
  return resnet(net, x, classes, {3, 4, 6, 3}, false);
}
Value resnet50(Net& net, Value x, std::int64_t classes) {
  return resnet(net, x, classes, {3, 4, 6, 3}, true);
}
Value resnet101(Net& net, Value x, std::int64_t classes) {
  return resnet(net, x, classes, {3, 4, 23, 3}, true);
}
Value resnet152(Net& net, Value x, std::int64_t classes) {
  return resnet(net, x, classes, {3, 8, 36, 3}, true);
}

}  // namespace toroid
