// A multilayer perceptron: two hidden layers of 256.
#include "toroid/models/networks.h"

namespace toroid {

Value mlp(Net& net, Value x, std::int64_t classes) {
  x = net.flatten(x);
  x = net.relu(net.dense("hidden1", x, 256));
  x = net.relu(net.dense("hidden2", x, 256));
  return net.classify(x, classes);
}

}  // namespace toroid
