#include "toroid/ops/conv2d.h"

#include "toroid/backends/reference/kernels.h"

namespace toroid::reference {
namespace {

// Where an image x [N,H,W,C], a kernel [kh,kw,C,K] and an output y [N,OH,OW,K] meet.
struct Geometry {
  const Shape &x, &kernel, &y;
  std::array<std::int64_t, 2> stride;
  Padding padding;
};

// Calls f(x at, kernel at, y at) for each pair of a picture's pixel and a kernel's pixel that meet:
// the offsets of x[n,h,w,0], kernel[a,b,0,0] and y[n,i,j,0].
template <class F>
void for_taps(const Geometry& g, F&& f) {
  const std::int64_t height = g.x[1], width = g.x[2], channels = g.x[3], filters = g.y[3];
  for (std::int64_t n = 0; n < g.y[0]; ++n) {
    for (std::int64_t i = 0; i < g.y[1]; ++i) {
      for (std::int64_t j = 0; j < g.y[2]; ++j) {
        for (std::int64_t a = 0; a < g.kernel[0]; ++a) {
          const std::int64_t h = i * g.stride[0] + a - g.padding[0];
          if (h < 0 || h >= height) continue;
          for (std::int64_t b = 0; b < g.kernel[1]; ++b) {
            const std::int64_t w = j * g.stride[1] + b - g.padding[2];
            if (w < 0 || w >= width) continue;
            f(static_cast<std::size_t>(((n * height + h) * width + w) * channels),
              static_cast<std::size_t>((a * g.kernel[1] + b) * channels * filters),
              static_cast<std::size_t>(((n * g.y[1] + i) * g.y[2] + j) * filters));
          }
        }
      }
    }
  }
}

}  // namespace

void conv2d(const KernelCall& call) {
  const auto& attributes = call.attributes<Conv2d>();
  const Geometry geometry{call.shape(0), call.shape(1), call.outputs[0]->shape(), attributes.stride,
                          attributes.padding};
  const auto channels = static_cast<std::size_t>(geometry.x[3]);
  const auto filters = static_cast<std::size_t>(geometry.y[3]);
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = call.input<T>(0), kernel = call.input<T>(1);
    std::vector<double> y(call.output<T>().size());
    for_taps(geometry, [&](std::size_t x_at, std::size_t kernel_at, std::size_t y_at) {
      for (std::size_t c = 0; c < channels; ++c) {
        const double pixel = x[x_at + c];
        for (std::size_t k = 0; k < filters; ++k) {
          y[y_at + k] += pixel * kernel[kernel_at + c * filters + k];
        }
      }
    });
    store(y, call.output<T>());
  });
}

void conv2d_input_gradient(const KernelCall& call) {
  const auto& attributes = call.attributes<Conv2dInputGradient>();
  const Geometry geometry{call.outputs[0]->shape(), call.shape(1), call.shape(0), attributes.stride,
                          attributes.padding};
  const auto channels = static_cast<std::size_t>(geometry.x[3]);
  const auto filters = static_cast<std::size_t>(geometry.y[3]);
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto dy = call.input<T>(0), kernel = call.input<T>(1);
    std::vector<double> dx(call.output<T>().size());
    for_taps(geometry, [&](std::size_t x_at, std::size_t kernel_at, std::size_t y_at) {
      for (std::size_t c = 0; c < channels; ++c) {
        for (std::size_t k = 0; k < filters; ++k) {
          dx[x_at + c] += static_cast<double>(dy[y_at + k]) * kernel[kernel_at + c * filters + k];
        }
      }
    });
    store(dx, call.output<T>());
  });
}

void conv2d_kernel_gradient(const KernelCall& call) {
  const auto& attributes = call.attributes<Conv2dKernelGradient>();
  const Geometry geometry{call.shape(0), call.outputs[0]->shape(), call.shape(1), attributes.stride,
                          attributes.padding};
  const auto channels = static_cast<std::size_t>(geometry.x[3]);
  const auto filters = static_cast<std::size_t>(geometry.y[3]);
  with_float(call.inputs[0]->dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = call.input<T>(0), dy = call.input<T>(1);
    std::vector<double> dkernel(call.output<T>().size());
    for_taps(geometry, [&](std::size_t x_at, std::size_t kernel_at, std::size_t y_at) {
      for (std::size_t c = 0; c < channels; ++c) {
        const double pixel = x[x_at + c];
        for (std::size_t k = 0; k < filters; ++k) {
          dkernel[kernel_at + c * filters + k] += pixel * dy[y_at + k];
        }
      }
    });
    store(dkernel, call.output<T>());
  });
}

}  // namespace toroid::reference
