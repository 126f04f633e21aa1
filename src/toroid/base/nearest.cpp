#include "toroid/base/nearest.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "toroid/base/error.h"

namespace toroid {
namespace {

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = name.size() / 2 + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t d = distance(name, candidate);
    if (d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

void fail_unknown(std::string_view kind, std::string_view name,
                  std::span<const std::string_view> known) {
  const std::string_view guess = nearest(name, known);
  const std::string hint = guess.empty() ? "" : fmt::format(": did you mean \"{}\"?", guess);
  fail_usage("unknown {} \"{}\"{} (known: {})", kind, name, hint, fmt::join(known, ", "));
}

}  // namespace toroid
