// AlexNet: Krizhevsky, Sutskever, Hinton, "ImageNet Classification with Deep Convolutional Neural
// Networks", NIPS 2012, as one network on one device: the two halves are groups of channels.
//
//   conv1    11x11,  96, stride 4            norm, pool
//   conv2    5x5,   256, 2 groups            norm, pool
//   conv3    3x3,   384
//   conv4    3x3,   384, 2 groups
//   conv5    3x3,   256, 2 groups            pool
//   hidden1  4096, dropout
//   hidden2  4096, dropout, classifier
//
// Pools are 3x3 with stride 2; every layer but the classifier is followed by ReLU, the norms by
// nothing. conv1 is padded to whole steps of its stride, so that the paper's 224x224 and the
// 227x227 that its sizes are for both give 55x55 (and 60,965,224 parameters). The hidden layers
// depend on the picture size; 64x64 is the smallest.
//
// In alexnet_bn, batch norm stands between each convolution, then without bias, and its ReLU, in
// place of the response norms: B. Ginsburg's AlexNet-BN of NVIDIA's Caffe, which You et al., "Large
// Batch Training of Convolutional Networks", 2017, train with LARS.
//
// Left out of the paper's: its initial values (normal with deviation 0.01, biases of 1).
#include "toroid/models/networks.h"

namespace toroid {
namespace {

// Smallest padding, the odd pixel below and right, with which windows at `stride` end at the edge.
Padding whole_steps(const Shape& x, std::int64_t window, std::int64_t stride) {
  const auto missing = [&](std::int64_t size) {
    return (stride - (size - window) % stride) % stride;
  };
  const std::int64_t rows = missing(x[1]), columns = missing(x[2]);
  return {rows / 2, rows - rows / 2, columns / 2, columns - columns / 2};
}

class AlexNet {
 public:
  AlexNet(Net& net, bool batch_norm) : net_(net), batch_norm_(batch_norm) {}

  Value logits(Value x, std::int64_t classes) {
    net_.require_size(x, 64);
    x = conv("1", x,
             {.filters = 96,
              .kernel = {11, 11},
              .stride = {4, 4},
              .padding = whole_steps(net_.shape(x), 11, 4)});
    x = pool(response_norm(x));
    x = conv("2", x, {.filters = 256, .kernel = {5, 5}, .groups = 2});
    x = pool(response_norm(x));
    x = conv("3", x, {.filters = 384});
    x = conv("4", x, {.filters = 384, .groups = 2});
    x = conv("5", x, {.filters = 256, .groups = 2});
    x = net_.flatten(pool(x));
    for (const char* name : {"hidden1", "hidden2"}) {
      x = net_.dropout(name, net_.relu(net_.dense(name, x, 4096)), 0.5);
    }
    return net_.classify(x, classes);
  }

 private:
  Value conv(const std::string& number, Value x, ConvOptions options) {
    options.bias = !batch_norm_;
    x = net_.conv("conv" + number, x, options);
    if (batch_norm_) x = net_.batch_norm("norm" + number, x, {.epsilon = 1e-4});
    return net_.relu(x);
  }
  Value response_norm(Value x) { return batch_norm_ ? x : net_.local_response_norm(x, {}); }
  Value pool(Value x) { return net_.max_pool(x, {.window = {3, 3}, .stride = {2, 2}}); }

  Net& net_;
  bool batch_norm_;
};

}  // namespace

Value alexnet(Net& net, Value x, std::int64_t classes) {
  return AlexNet(net, false).logits(x, classes);
}
Value alexnet_bn(Net& net, Value x, std::int64_t classes) {
  return AlexNet(net, true).logits(x, classes);
}

}  // namespace toroid
