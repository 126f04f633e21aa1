// The worked cases of convolutions and pools.
#include "toroid/ops/avg_pool.h"
#include "toroid/ops/cases.h"
#include "toroid/ops/conv2d.h"
#include "toroid/ops/max_pool.h"

namespace toroid {
namespace {

using Size = std::array<std::int64_t, 2>;

struct Window {
  std::string label;
  std::int64_t n;
  Size input;
  std::int64_t channels, filters;
  Size kernel, stride;
  Padding padding;
  std::int64_t groups = 1;
};

std::vector<Window> windows() {
  return {
      {"1x1 picture", 2, {1, 1}, 3, 5, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {"1x1 picture under a padded 3x3", 1, {1, 1}, 1, 1, {3, 3}, {1, 1}, {1, 1, 1, 1}},
      {"3x3 same", 2, {5, 7}, 3, 17, {3, 3}, {1, 1}, {1, 1, 1, 1}},
      {"3x3 stride 2, padding below and right", 2, {6, 8}, 4, 8, {3, 3}, {2, 2}, {0, 1, 0, 1}},
      {"padding on one side", 1, {4, 5}, 2, 3, {2, 3}, {1, 2}, {1, 0, 0, 2}},
      {"stride above the kernel", 3, {9, 7}, 5, 6, {2, 1}, {3, 4}, {0, 0, 0, 0}},
      {"rows left over by the stride", 1, {8, 9}, 1, 2, {3, 3}, {3, 2}, {0, 0, 1, 0}},
      {"1x1 projection, stride 2", 2, {7, 5}, 20, 33, {1, 1}, {2, 2}, {0, 0, 0, 0}},
      {"16 channels", 2, {6, 6}, 16, 32, {3, 3}, {1, 1}, {1, 1, 1, 1}},
      {"7x7 stem", 1, {15, 15}, 3, 8, {7, 7}, {2, 2}, {3, 3, 3, 3}},
  };
}

std::vector<Window> grouped_windows() {
  return {
      {"1x1 picture, 2 groups", 2, {1, 1}, 2, 2, {1, 1}, {1, 1}, {0, 0, 0, 0}, 2},
      {"3x3 same, 2 groups", 2, {5, 7}, 6, 4, {3, 3}, {1, 1}, {1, 1, 1, 1}, 2},
      {"5 groups of odd size, stride 2", 1, {9, 7}, 15, 35, {3, 2}, {2, 2}, {1, 0, 0, 1}, 5},
      {"groups of 16 channels", 1, {6, 6}, 32, 64, {3, 3}, {1, 1}, {1, 1, 1, 1}, 2},
      {"depthwise", 2, {7, 5}, 17, 17, {3, 3}, {1, 1}, {1, 1, 1, 1}, 17},
      {"depthwise, two filters a channel, stride 2",
       2,
       {6, 8},
       3,
       6,
       {5, 5},
       {2, 2},
       {1, 2, 1, 2},
       3},
  };
}

void add_convolutions(Cases& cases, const std::vector<Window>& convolutions) {
  for (const Window& w : convolutions) {
    const Size out = window_output(w.input, w.kernel, w.stride, w.padding);
    const Operand x = cases.normal({w.n, w.input[0], w.input[1], w.channels});
    const Operand kernel =
        cases.normal({w.kernel[0], w.kernel[1], w.channels / w.groups, w.filters});
    const Operand dy = cases.normal({w.n, out[0], out[1], w.filters});
    cases.add(Conv2d{.stride = w.stride, .padding = w.padding, .groups = w.groups}, w.label,
              {x, kernel}, {0, 1});
    cases.add(
        Conv2dInputGradient{
            .stride = w.stride, .padding = w.padding, .input_size = w.input, .groups = w.groups},
        w.label, {dy, kernel});
    cases.add(
        Conv2dKernelGradient{
            .stride = w.stride, .padding = w.padding, .kernel_size = w.kernel, .groups = w.groups},
        w.label, {x, dy});
  }
}

std::vector<Window> pools() {
  return {
      {"2x2", 2, {4, 6}, 3, 0, {2, 2}, {2, 2}, {0, 0, 0, 0}},
      {"3x3 stride 2, overlapping, odd size", 2, {7, 5}, 17, 0, {3, 3}, {2, 2}, {1, 1, 1, 1}},
      {"1x1 picture", 3, {1, 1}, 1, 0, {1, 1}, {1, 1}, {0, 0, 0, 0}},
      {"stride above the window, padding on one side",
       1,
       {8, 7},
       2,
       0,
       {2, 2},
       {3, 4},
       {1, 0, 0, 1}},
  };
}

void add_max_pools(Cases& cases) {
  for (const Window& w : pools()) {
    const Size out = window_output(w.input, w.kernel, w.stride, w.padding);
    const Operand x = cases.distinct({w.n, w.input[0], w.input[1], w.channels});
    cases.add(MaxPool{.window = w.kernel, .stride = w.stride, .padding = w.padding}, w.label, {x},
              {0});
    cases.add(MaxPoolGradient{.window = w.kernel, .stride = w.stride, .padding = w.padding},
              w.label, {x, cases.normal({w.n, out[0], out[1], w.channels})});
  }
}

template <class Pool>
Pool pool_of(const Window& w, bool count_include_padding) {
  return {.window = w.kernel,
          .stride = w.stride,
          .padding = w.padding,
          .count_include_padding = count_include_padding};
}

void add_average_pools(Cases& cases) {
  for (const Window& w : pools()) {
    const Size out = window_output(w.input, w.kernel, w.stride, w.padding);
    const Operand x = cases.normal({w.n, w.input[0], w.input[1], w.channels});
    const Operand dy = cases.normal({w.n, out[0], out[1], w.channels});
    for (const bool count : {false, true}) {
      const std::string label = w.label + (count ? ", padding counts" : "");
      cases.add(pool_of<AvgPool>(w, count), label, {x}, {0});
      auto gradient = pool_of<AvgPoolGradient>(w, count);
      gradient.input_size = w.input;
      cases.add(gradient, label, {dy}, {0});
    }
  }
}

}  // namespace

void add_window_cases(Cases& cases) {
  add_convolutions(cases, windows());
  add_convolutions(cases, grouped_windows());
  add_max_pools(cases);
  add_average_pools(cases);
}

}  // namespace toroid
