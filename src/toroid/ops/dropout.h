// Dropout (Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from Overfitting",
// JMLR 2014), scaled in training so that nothing need be done afterwards.
#pragma once

#include "toroid/graph/builder.h"

namespace toroid {

/// x [N,...], ids u32 [N], seed u32 [], step i32 [] -> x's type:
///   y[n,e] = word(n,e) < floor(rate * 2^32) ? 0 : x[n,e] / (1 - rate)
/// where e is an element's row-major index within its example, and word(n,e) the e-th word of the
/// stream Random(seed, key, step, ids[n]) of base/random.h: word e % 4 of
///   philox(key {seed, 0}, counter {e / 4, key, step, ids[n]})
/// So a draw depends on the example, not on where it lies, and is the same on every backend
/// (docs/algorithms/dropout.md). What is dropped is 0, be it NaN. The gradient is the same op.
struct Dropout {
  static constexpr std::string_view kName = "dropout";
  double rate = 0.5;      ///< in [0, 1)
  std::uint32_t key = 0;  ///< of this op among those of the network: purpose_hash of its path

  std::vector<TensorType> infer(Types inputs) const;
  Gradient gradient(GradientContext& context) const;
  Cost cost(Types inputs, Types outputs) const;
  template <class V>
  void attributes(V& visit) const {
    visit("rate", rate);
    visit("key", key);
  }

  /// Words below this are dropped.
  std::uint32_t threshold() const { return static_cast<std::uint32_t>(rate * 0x1p32); }
  /// What the others are multiplied with.
  double scale() const { return 1 / (1 - rate); }
};

Value dropout(Builder& builder, Value x, Value ids, Value seed, Value step, Dropout attributes);

}  // namespace toroid
