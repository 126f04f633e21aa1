// Inception-v3: Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", 2015,
// in the form of Keras' InceptionV3, whose weights it can take: batch norm without gamma after each
// convolution, average pools that count the picture's pixels alone, no auxiliary classifier. Sizes
// are for pictures of 299x299; 75x75 is the smallest.
//
//   stem        3x3, 32, stride 2; 3x3, 32; 3x3, 64 padded; pool; 1x1, 80; 3x3, 192; pool
//   mixed0-2    35x35x256, 288, 288   figure 5, the 5x5 kept in one branch
//   mixed3      17x17x768             grid reduction, figure 10
//   mixed4-7    17x17x768             figure 6, n = 7, with 128, 160, 160, 192 filters inside
//   mixed8      8x8x1280              grid reduction
//   mixed9-10   8x8x2048              figure 7
//   global average pool, classifier
#include "toroid/models/networks.h"

namespace toroid {
namespace {

enum class Border { kSame, kValid };

struct Layer {
  std::int64_t filters, height, width;
  std::int64_t stride = 1;
  Border border = Border::kSame;
};

// Convolution, batch norm and ReLU for each layer.
Value chain(Net& net, std::string_view name, Value x, std::initializer_list<Layer> layers) {
  const auto inside = net.scope(name);
  int i = 0;
  for (const Layer& layer : layers) {
    const std::string number = std::to_string(++i);
    ConvOptions options{.filters = layer.filters,
                        .kernel = {layer.height, layer.width},
                        .stride = {layer.stride, layer.stride}};
    if (layer.border == Border::kValid) options.padding = Padding{};
    x = net.conv("conv" + number, x, options);
    x = net.batch_norm("norm" + number, x, {.epsilon = 1e-3, .momentum = 0.99, .gamma = false});
    x = net.relu(x);
  }
  return x;
}

Value average_pool(Net& net, Value x) {
  return net.avg_pool(x, {.window = {3, 3}, .stride = {1, 1}, .padding = {1, 1, 1, 1}});
}

Value reducing_pool(Net& net, Value x) {
  return net.max_pool(x, {.window = {3, 3}, .stride = {2, 2}});
}

Value stem(Net& net, Value x) {
  x = chain(net, "stem1", x,
            {{32, 3, 3, 2, Border::kValid}, {32, 3, 3, 1, Border::kValid}, {64, 3, 3}});
  x = reducing_pool(net, x);
  x = chain(net, "stem2", x, {{80, 1, 1, 1, Border::kValid}, {192, 3, 3, 1, Border::kValid}});
  return reducing_pool(net, x);
}

Value mixed_35(Net& net, Value x, std::int64_t pool_filters) {
  return net.concat({chain(net, "branch1x1", x, {{64, 1, 1}}),
                     chain(net, "branch5x5", x, {{48, 1, 1}, {64, 5, 5}}),
                     chain(net, "branch3x3double", x, {{64, 1, 1}, {96, 3, 3}, {96, 3, 3}}),
                     chain(net, "branch_pool", average_pool(net, x), {{pool_filters, 1, 1}})});
}

Value reduction_35(Net& net, Value x) {
  return net.concat(
      {chain(net, "branch3x3", x, {{384, 3, 3, 2, Border::kValid}}),
       chain(net, "branch3x3double", x, {{64, 1, 1}, {96, 3, 3}, {96, 3, 3, 2, Border::kValid}}),
       reducing_pool(net, x)});
}

Value mixed_17(Net& net, Value x, std::int64_t n) {
  return net.concat(
      {chain(net, "branch1x1", x, {{192, 1, 1}}),
       chain(net, "branch7x7", x, {{n, 1, 1}, {n, 1, 7}, {192, 7, 1}}),
       chain(net, "branch7x7double", x, {{n, 1, 1}, {n, 7, 1}, {n, 1, 7}, {n, 7, 1}, {192, 1, 7}}),
       chain(net, "branch_pool", average_pool(net, x), {{192, 1, 1}})});
}

Value reduction_17(Net& net, Value x) {
  return net.concat({chain(net, "branch3x3", x, {{192, 1, 1}, {320, 3, 3, 2, Border::kValid}}),
                     chain(net, "branch7x7x3", x,
                           {{192, 1, 1}, {192, 1, 7}, {192, 7, 1}, {192, 3, 3, 2, Border::kValid}}),
                     reducing_pool(net, x)});
}

// 1x3 and 3x1 side by side.
Value split(Net& net, std::string_view name, Value x) {
  const auto inside = net.scope(name);
  return net.concat(
      {chain(net, "split1x3", x, {{384, 1, 3}}), chain(net, "split3x1", x, {{384, 3, 1}})});
}

Value mixed_8(Net& net, Value x) {
  const Value branch1x1 = chain(net, "branch1x1", x, {{320, 1, 1}});
  Value branch3x3 = chain(net, "branch3x3", x, {{384, 1, 1}});
  branch3x3 = split(net, "branch3x3", branch3x3);
  Value twice = chain(net, "branch3x3double", x, {{448, 1, 1}, {384, 3, 3}});
  twice = split(net, "branch3x3double", twice);
  const Value pool = chain(net, "branch_pool", average_pool(net, x), {{192, 1, 1}});
  return net.concat({branch1x1, branch3x3, twice, pool});
}

}  // namespace

Value inception_v3(Net& net, Value x, std::int64_t classes) {
  net.require_size(x, 75);
  x = stem(net, x);
  int i = 0;
  const auto mixed = [&](auto block, auto... filters) {
    const auto inside = net.scope("mixed" + std::to_string(i++));
    x = block(net, x, filters...);
  };
  for (const std::int64_t pool_filters : {32, 64, 64}) mixed(mixed_35, pool_filters);
  mixed(reduction_35);
  for (const std::int64_t filters : {128, 160, 160, 192}) mixed(mixed_17, filters);
  mixed(reduction_17);
  mixed(mixed_8);
  mixed(mixed_8);
  return net.classify(net.global_average_pool(x), classes);
}

}  // namespace toroid
