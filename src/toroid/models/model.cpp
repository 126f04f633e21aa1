#include "toroid/models/model.h"

#include "toroid/base/nearest.h"
#include "toroid/models/networks.h"

namespace toroid {

const std::vector<ModelInfo>& models() {
  static const std::vector<ModelInfo> known{
      {"mlp", "two hidden layers of 256", mlp},
      {"cnn", "two 3x3 convolutions with max pooling, one hidden layer of 128", cnn},
      {"resnet8", "small residual network (He et al. 2015, 4.2), 1 block a stage", resnet8},
      {"resnet14", "small residual network (He et al. 2015, 4.2), 2 blocks a stage", resnet14},
      {"resnet20", "small residual network (He et al. 2015, 4.2), 3 blocks a stage", resnet20},
      {"resnet18", "residual network v1.5 (He et al. 2015), 18 layers", resnet18},
      {"resnet34", "residual network v1.5 (He et al. 2015), 34 layers", resnet34},
      {"resnet50", "residual network v1.5 (He et al. 2015), 50 layers", resnet50},
      {"resnet101", "residual network v1.5 (He et al. 2015), 101 layers", resnet101},
      {"resnet152", "residual network v1.5 (He et al. 2015), 152 layers", resnet152},
      {"resnet50_v2", "residual network with pre-activation (Keras' ResNet50V2)", resnet50_v2},
      {"resnet101_v2", "residual network with pre-activation (Keras' ResNet101V2)", resnet101_v2},
      {"resnet152_v2", "residual network with pre-activation (Keras' ResNet152V2)", resnet152_v2},
      {"inception_v3", "Inception-v3 (Szegedy et al. 2015, as in Keras), from 75x75", inception_v3},
      {"alexnet", "AlexNet (Krizhevsky et al. 2012), from 64x64", alexnet},
      {"alexnet_bn", "AlexNet with batch norm (Ginsburg), from 64x64", alexnet_bn},
  };
  return known;
}

const ModelInfo& find_model(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ModelInfo& model : models()) {
    if (model.name == name) return model;
    names.push_back(model.name);
  }
  fail_unknown("model", name, names);
}

}  // namespace toroid
