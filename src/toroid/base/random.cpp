#include "toroid/base/random.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace toroid {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 2> key,
                                    std::array<std::uint32_t, 4> c) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    philox_round(key[0], key[1], c[0], c[1], c[2], c[3]);
    philox_next_key(key[0], key[1]);
  }
  return c;
}

std::uint32_t purpose_hash(std::string_view purpose) {
  std::uint32_t hash = 2166136261U;
  for (const char c : purpose) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

Random::Random(std::uint64_t seed, std::string_view purpose, std::uint32_t a, std::uint32_t b)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {
  counter_ = {0, purpose_hash(purpose), a, b};
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
