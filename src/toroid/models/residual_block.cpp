#include "toroid/models/residual_block.h"

namespace toroid {

Value residual_block(Net& net, Value x, const ResidualBlock& block) {
  const std::array<std::int64_t, 2> stride{block.stride, block.stride};
  const std::int64_t filters = block.bottleneck ? 4 * block.filters : block.filters;
  Value y = x;
  if (block.bottleneck) {
    y = net.conv("conv1", y, {.filters = block.filters, .kernel = {1, 1}});
    y = net.relu(net.batch_norm("norm1", y));
    y = net.conv("conv2", y,
                 {.filters = block.filters, .stride = stride, .padding = block.padding});
    y = net.relu(net.batch_norm("norm2", y));
    y = net.conv("conv3", y, {.filters = filters, .kernel = {1, 1}});
  } else {
    y = net.conv("conv1", y,
                 {.filters = block.filters, .stride = stride, .padding = block.padding});
    y = net.relu(net.batch_norm("norm1", y));
    y = net.conv("conv2", y, {.filters = filters, .padding = block.padding});
  }
  y = net.batch_norm(block.bottleneck ? "norm3" : "norm2", y,
                     {.zero_gamma = net.options().zero_init_last_gamma});
  Value shortcut = x;
  if (block.stride != 1 || net.shape(x).back() != filters) {
    shortcut =
        net.conv("shortcut/conv", x, {.filters = filters, .kernel = {1, 1}, .stride = stride});
    shortcut = net.batch_norm("shortcut/norm", shortcut);
  }
  return net.relu(net.add(y, shortcut));
}

}  // namespace toroid
