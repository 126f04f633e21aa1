// Residual networks with pre-activation: He et al., "Identity Mappings in Deep Residual Networks",
// 2016, in the form of Keras' ResNet50V2, ResNet101V2 and ResNet152V2:
//
//   stem    7x7, 64, stride 2, bias; 3x3 max pool, stride 2, over a border of zeros
//                  blocks of ResNet-  50 101 152
//   stage1   64 filters, stride 2      3   3   3
//   stage2  128 filters, stride 2      4   4   8
//   stage3  256 filters, stride 2      6  23  36
//   stage4  512 filters                3   3   3
//           batch norm, ReLU, global average pool, classifier
//
// A block of n filters is [1x1, n; 3x3, n; 1x1, 4n], each after batch norm and ReLU, and the sum
// with the shortcut is not touched. A stage's first block has a projection as its shortcut, its
// last one the stride, in the 3x3 convolution and in a subsampling shortcut. The last 1x1 and the
// projection have biases. The paper's own networks have the stride in the first block, and batch
// norm, ReLU and no bias in the stem. No norm ends a block, so zero_init_last_gamma is no matter.
#include "toroid/models/networks.h"
#include "toroid/ops/constant.h"
#include "toroid/ops/elementwise.h"
#include "toroid/ops/sum.h"

namespace toroid {
namespace {

constexpr Padding kOne{1, 1, 1, 1};

Value norm_relu(Net& net, std::string_view name, Value x) {
  return net.relu(net.batch_norm(name, x, {.epsilon = 1.001e-5, .momentum = 0.99}));
}

// 3x3, stride 2, over a border of zeros, which may win: our pools' padding never does. So windows
// that reach over the border give at least 0. The number of pixels in each window tells which do.
Value zero_padded_max_pool(Net& net, Value x) {
  Builder& builder = net.builder();
  const auto inside = net.scope("stem/pool");
  const DType dtype = net.options().dtype;
  const Shape from = net.shape(x);
  const Value pooled = net.max_pool(x, {.window = {3, 3}, .stride = {2, 2}, .padding = kOne});
  const Value pixels =
      conv2d(builder, constant(builder, 1, {dtype, {1, from[1], from[2], 1}}),
             constant(builder, 1, {dtype, {3, 3, 1, 1}}), {.stride = {2, 2}, .padding = kOne});
  const auto all = [&](double value) { return constant(builder, value, builder.type(pixels)); };
  const Value least = select(builder, less(builder, pixels, all(8.5)), all(0), all(-1e38));
  const Shape to = net.shape(pooled);
  const Value plane = reshape(builder, least, {to[1], to[2]});
  return maximum(builder, pooled, broadcast(builder, plane, to, {0, 3}));
}

Value block(Net& net, Value x, std::int64_t filters, std::int64_t stride, bool projection) {
  Value y = norm_relu(net, "norm1", x);
  Value shortcut = x;
  if (projection) {
    shortcut = net.conv(
        "shortcut/conv", y,
        {.filters = 4 * filters, .kernel = {1, 1}, .stride = {stride, stride}, .bias = true});
  } else if (stride != 1) {
    shortcut = net.max_pool(x, {.window = {1, 1}, .stride = {stride, stride}});
  }
  y = net.conv("conv1", y, {.filters = filters, .kernel = {1, 1}});
  y = norm_relu(net, "norm2", y);
  y = net.conv("conv2", y, {.filters = filters, .stride = {stride, stride}, .padding = kOne});
  y = norm_relu(net, "norm3", y);
  y = net.conv("conv3", y, {.filters = 4 * filters, .kernel = {1, 1}, .bias = true});
  return net.add(shortcut, y);
}

Value resnet_v2(Net& net, Value x, std::int64_t classes, const std::array<int, 4>& blocks) {
  x = net.conv("stem/conv", x,
               {.filters = 64,
                .kernel = {7, 7},
                .stride = {2, 2},
                .padding = Padding{3, 3, 3, 3},
                .bias = true});
  x = zero_padded_max_pool(net, x);
  for (int stage = 1; stage <= 4; ++stage) {
    const int count = blocks[static_cast<std::size_t>(stage - 1)];
    for (int i = 1; i <= count; ++i) {
      const auto in_stage = net.scope("stage" + std::to_string(stage));
      const auto in_block = net.scope("block" + std::to_string(i));
      const std::int64_t stride = stage < 4 && i == count ? 2 : 1;
      x = block(net, x, std::int64_t{32} << stage, stride, i == 1);
    }
  }
  x = norm_relu(net, "final/norm", x);
  return net.classify(net.global_average_pool(x), classes);
}

}  // namespace

Value resnet50_v2(Net& net, Value x, std::int64_t classes) {
  return resnet_v2(net, x, classes, {3, 4, 6, 3});
}
Value resnet101_v2(Net& net, Value x, std::int64_t classes) {
  return resnet_v2(net, x, classes, {3, 4, 23, 3});
}
Value resnet152_v2(Net& net, Value x, std::int64_t classes) {
  return resnet_v2(net, x, classes, {3, 8, 36, 3});
}

}  // namespace toroid
