// Counter-based random numbers: the same key always gives the same draws, on any thread or rank.
// Philox4x32-10, Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace toroid {

inline constexpr int kPhiloxRounds = 10;

/// One round: the counter's words c0 .. c3 under the key's two.
inline void philox_round(std::uint32_t key0, std::uint32_t key1, std::uint32_t& c0,
                         std::uint32_t& c1, std::uint32_t& c2, std::uint32_t& c3) {
  const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c0;
  const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c2;
  c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ key0;
  c1 = static_cast<std::uint32_t>(p1);
  c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ key1;
  c3 = static_cast<std::uint32_t>(p0);
}

/// The key of the round after.
inline void philox_next_key(std::uint32_t& key0, std::uint32_t& key1) {
  key0 += 0x9E3779B9;
  key1 += 0xBB67AE85;
}

/// One Philox4x32-10 block: four words from a 64-bit key and a 128-bit counter.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 2> key,
                                    std::array<std::uint32_t, 4> counter);

/// FNV-1a: names what random numbers are for.
std::uint32_t purpose_hash(std::string_view purpose);

/// A stream of draws, a pure function of (seed, purpose, a, b): for augmentation the purpose names
/// the transformation, a is the epoch and b the example id. Streams with any part different are
/// independent. `purpose` is hashed, so a new use cannot disturb an old one's draws.
class Random {
 public:
  Random(std::uint64_t seed, std::string_view purpose, std::uint32_t a = 0, std::uint32_t b = 0);

  std::uint32_t next();
  /// Uniform in [0, 1), 24 bits.
  double uniform();
  /// Uniform in [low, high).
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// Uniform in 0 .. bound-1, without bias; bound > 0.
  std::uint32_t below(std::uint32_t bound);
  /// Standard normal (Box-Muller).
  double normal();

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  int used_ = 4;
};

/// 0 .. n-1 in an order that is a pure function of (n, seed, purpose, a): Fisher-Yates.
std::vector<std::uint32_t> permutation(std::uint32_t n, std::uint64_t seed,
                                       std::string_view purpose, std::uint32_t a = 0);

}  // namespace toroid
