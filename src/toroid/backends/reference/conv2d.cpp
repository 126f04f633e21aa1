#include "toroid/ops/conv2d.h"

#include "toroid/backends/reference/kernels.h"

namespace toroid::reference {
namespace {

// Where an image x [N,H,W,C], a kernel [kh,kw,C/G,K] and an output y [N,OH,OW,K] meet.
struct Geometry {
  const Shape &x, &kernel, &y;
  std::array<std::int64_t, 2> stride;
  Padding padding;
  std::int64_t groups;
};

// Calls f(x's index, kernel's index, y's index) for each product of a pixel's channel and a
// kernel's element, given the offsets of x[n,h,w,0], kernel[a,b,0,0] and y[n,i,j,0].
template <class F>
void for_channels(const Geometry& g, std::int64_t x_at, std::int64_t kernel_at, std::int64_t y_at,
                  F&& f) {
  const std::int64_t channels = g.kernel[2], filters = g.y[3] / g.groups;  // of one group
  for (std::int64_t group = 0; group < g.groups; ++group) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t k = group * filters; k < (group + 1) * filters; ++k) {
        f(static_cast<std::size_t>(x_at + group * channels + c),
          static_cast<std::size_t>(kernel_at + c * g.y[3] + k), static_cast<std::size_t>(y_at + k));
      }
    }
  }
}

// The same for each pair of a picture's pixel and a kernel's pixel that meet.
template <class F>
void for_products(const Geometry& g, F&& f) {
  const std::int64_t height = g.x[1], width = g.x[2];
  for (std::int64_t n = 0; n < g.y[0]; ++n) {
    for (std::int64_t i = 0; i < g.y[1]; ++i) {
      for (std::int64_t j = 0; j < g.y[2]; ++j) {
        for (std::int64_t a = 0; a < g.kernel[0]; ++a) {
          const std::int64_t h = i * g.stride[0] + a - g.padding[0];
          if (h < 0 || h >= height) continue;
          for (std::int64_t b = 0; b < g.kernel[1]; ++b) {
            const std::int64_t w = j * g.stride[1] + b - g.padding[2];
            if (w < 0 || w >= width) continue;
            for_channels(g, ((n * height + h) * width + w) * g.x[3],
                         (a * g.kernel[1] + b) * g.kernel[2] * g.y[3],
                         ((n * g.y[1] + i) * g.y[2] + j) * g.y[3], f);
          }
        }
      }
    }
  }
}

}  // namespace

void conv2d(const KernelCall& call) {
  const auto& op = call.attributes<Conv2d>();
  const Geometry geometry{call.shape(0), call.shape(1), call.outputs[0]->shape(),
                          op.stride,     op.padding,    op.groups};
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = call.input<T>(0), kernel = call.input<T>(1);
    std::vector<double> y(call.output<T>().size());
    for_products(geometry, [&](std::size_t x_at, std::size_t kernel_at, std::size_t y_at) {
      y[y_at] += static_cast<double>(x[x_at]) * kernel[kernel_at];
    });
    store(y, call.output<T>());
  });
}

void conv2d_input_gradient(const KernelCall& call) {
  const auto& op = call.attributes<Conv2dInputGradient>();
  const Geometry geometry{
      call.outputs[0]->shape(), call.shape(1), call.shape(0), op.stride, op.padding, op.groups};
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto dy = call.input<T>(0), kernel = call.input<T>(1);
    std::vector<double> dx(call.output<T>().size());
    for_products(geometry, [&](std::size_t x_at, std::size_t kernel_at, std::size_t y_at) {
      dx[x_at] += static_cast<double>(dy[y_at]) * kernel[kernel_at];
    });
    store(dx, call.output<T>());
  });
}

void conv2d_kernel_gradient(const KernelCall& call) {
  const auto& op = call.attributes<Conv2dKernelGradient>();
  const Geometry geometry{
      call.shape(0), call.outputs[0]->shape(), call.shape(1), op.stride, op.padding, op.groups};
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = call.input<T>(0), dy = call.input<T>(1);
    std::vector<double> dkernel(call.output<T>().size());
    for_products(geometry, [&](std::size_t x_at, std::size_t kernel_at, std::size_t y_at) {
      dkernel[kernel_at] += static_cast<double>(x[x_at]) * dy[y_at];
    });
    store(dkernel, call.output<T>());
  });
}

}  // namespace toroid::reference
