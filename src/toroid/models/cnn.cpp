// A small convolutional network without batch norm, after LeNet-5 (LeCun et al., 1998) with ReLU
// and max pooling: [3x3, 32] pool [3x3, 64] pool dense 128.
#include "toroid/models/networks.h"

namespace toroid {

Value cnn(Net& net, Value x, std::int64_t classes) {
  x = net.relu(net.conv("conv1", x, {.filters = 32, .bias = true}));
  x = net.max_pool(x, {});
  x = net.relu(net.conv("conv2", x, {.filters = 64, .bias = true}));
  x = net.max_pool(x, {});
  x = net.relu(net.dense("hidden", net.flatten(x), 128));
  return net.classify(x, classes);
}

}  // namespace toroid
