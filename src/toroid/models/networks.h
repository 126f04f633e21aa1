// The model functions, each defined in the file of its family; model.h lists them by name.
#pragma once

#include "toroid/models/net.h"

namespace toroid {

Value mlp(Net& net, Value images, std::int64_t classes);
Value cnn(Net& net, Value images, std::int64_t classes);
Value resnet8(Net& net, Value images, std::int64_t classes);
Value resnet14(Net& net, Value images, std::int64_t classes);
Value resnet20(Net& net, Value images, std::int64_t classes);
Value resnet18(Net& net, Value images, std::int64_t classes);
Value resnet34(Net& net, Value images, std::int64_t classes);
Value resnet50(Net& net, Value images, std::int64_t classes);
Value resnet101(Net& net, Value images, std::int64_t classes);
Value resnet152(Net& net, Value images, std::int64_t classes);
Value resnet50_v2(Net& net, Value images, std::int64_t classes);
Value resnet101_v2(Net& net, Value images, std::int64_t classes);
Value resnet152_v2(Net& net, Value images, std::int64_t classes);
Value inception_v3(Net& net, Value images, std::int64_t classes);
Value alexnet(Net& net, Value images, std::int64_t classes);
Value alexnet_bn(Net& net, Value images, std::int64_t classes);

}  // namespace toroid
