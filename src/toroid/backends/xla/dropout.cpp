#include "toroid/ops/dropout.h"

#include <array>

#include "toroid/backends/xla/emitters.h"

namespace toroid {
namespace {

using Words = std::array<Ssa, 4>;

Ssa word(StablehloText& text, const Ssa& like, std::uint32_t value) {
  return text.constant(value, like.type);
}

// The upper 32 bits of multiplier * x, from products of 16-bit halves: not every device has 64-bit
// integers.
Ssa multiply_high(StablehloText& text, std::uint32_t multiplier, const Ssa& x) {
  const Ssa mask = word(text, x, 0xffff), sixteen = word(text, x, 16);
  const Ssa low_half = word(text, x, multiplier & 0xffff),
            high_half = word(text, x, multiplier >> 16);
  const auto low = [&](const Ssa& v) { return text.elementwise("and", {v, mask}); };
  const auto high = [&](const Ssa& v) {
    return text.elementwise("shift_right_logical", {v, sixteen});
  };
  const Ssa x_low = low(x), x_high = high(x);
  const Ssa a = text.multiply(x_low, high_half), b = text.multiply(x_high, low_half);
  const Ssa middle = text.add(high(text.multiply(x_low, low_half)), text.add(low(a), low(b)));
  return text.add(text.add(text.multiply(x_high, high_half), high(middle)),
                  text.add(high(a), high(b)));
}

// Philox4x32-10, as in base/random.cpp, with the key {seed, 0}.
Words philox(StablehloText& text, Ssa seed, Words c) {
  Ssa other_key = word(text, seed, 0);
  const auto exclusive_or = [&](const Ssa& a, const Ssa& b, const Ssa& key) {
    return text.elementwise("xor", {text.elementwise("xor", {a, b}), key});
  };
  for (int round = 0; round < 10; ++round) {
    c = {exclusive_or(multiply_high(text, 0xCD9E8D57, c[2]), c[1], seed),
         text.multiply(c[2], word(text, c[2], 0xCD9E8D57)),
         exclusive_or(multiply_high(text, 0xD2511F53, c[0]), c[3], other_key),
         text.multiply(c[0], word(text, c[0], 0xD2511F53))};
    seed = text.add(seed, word(text, seed, 0x9E3779B9));
    other_key = text.add(other_key, word(text, seed, 0xBB67AE85));
  }
  return c;
}

// The words of `elements` elements of each example: [N,elements].
Ssa draws(StablehloText& text, const EmitNode& node, std::int64_t elements) {
  const std::int64_t examples = node.type().shape[0], blocks = (elements + 3) / 4;
  const TensorType type{DType::u32, Shape{examples, blocks}};
  const Ssa step = text.convert(node.operands[3], DType::u32);
  const Words words = philox(
      text, text.broadcast(node.operands[2], type.shape, {}),
      {text.iota(type, 1), text.constant(node.op<Dropout>().key, type),
       text.broadcast(step, type.shape, {}), text.broadcast(node.operands[1], type.shape, {0})});
  std::vector<Ssa> columns;
  for (const Ssa& w : words) columns.push_back(text.reshape(w, {examples, blocks, 1}));
  const Ssa all = text.reshape(text.concatenate(columns, 2), {examples, 4 * blocks});
  return text.slice(all, 1, 0, elements);
}

}  // namespace

std::vector<Ssa> emit_dropout(StablehloText& text, const EmitNode& node) {
  const auto& op = node.op<Dropout>();
  const Ssa& x = node.operands[0];
  const Ssa words =
      text.reshape(draws(text, node, x.type.shape.elements() / x.type.shape[0]), x.type.shape);
  const Ssa dropped = text.compare("LT", words, word(text, words, op.threshold()));
  return {text.select(dropped, text.constant(0, x.type), text.multiply(x, op.scale()))};
}

}  // namespace toroid
