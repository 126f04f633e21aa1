#include "toroid/base/random.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace toroid {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 2> key,
                                    std::array<std::uint32_t, 4> c) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ key[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return c;
}

Random::Random(std::uint64_t seed, std::string_view purpose, std::uint32_t a, std::uint32_t b)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {
  std::uint32_t hash = 2166136261U;
  for (const char c : purpose) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  counter_ = {0, hash, a, b};
}

std::uint32_t Random::next() {
  if (used_ == 4) {
    block_ = philox(key_, counter_);
    ++counter_[0];
    used_ = 0;
  }
  return block_[static_cast<std::size_t>(used_++)];
}

double Random::uniform() {
  return (next() >> 8) * 0x1p-24;
}

std::uint32_t Random::below(std::uint32_t bound) {
  // Lemire's method: reject the few words that would favour small results.
  const std::uint32_t threshold = -bound % bound;
  while (true) {
    const std::uint64_t product = std::uint64_t{next()} * bound;
    if (static_cast<std::uint32_t>(product) >= threshold) {
      return static_cast<std::uint32_t>(product >> 32);
    }
  }
}

double Random::normal() {
  const double u = 1.0 - uniform();  // in (0, 1], so that the logarithm is finite
  const double v = uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

std::vector<std::uint32_t> permutation(std::uint32_t n, std::uint64_t seed,
                                       std::string_view purpose, std::uint32_t a) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  Random random(seed, purpose, a);
  for (std::uint32_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

}  // namespace toroid
