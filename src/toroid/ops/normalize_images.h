// From stored pictures to the network's input.
#pragma once

#include "toroid/graph/builder.h"

namespace toroid {

/// u8 [N,H,W,C] -> dtype [N,H,W,C]: (x - mean[c]) * scale[c], mean and scale in units of 0..255.
struct NormalizeImages {
  static constexpr std::string_view kName = "normalize_images";
  std::vector<double> mean;   ///< one per channel
  std::vector<double> scale;  ///< one per channel
  DType dtype = DType::f32;

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("mean", mean);
    visit("scale", scale);
    visit("dtype", dtype);
  }
};

Value normalize_images(Builder& builder, Value images, NormalizeImages attributes);

}  // namespace toroid
