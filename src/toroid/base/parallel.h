// A loop over independent work on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace toroid {

/// Calls f(0) .. f(n-1) on up to `threads` threads; throws what the lowest failing index threw.
void parallel_for(std::size_t n, int threads, const std::function<void(std::size_t)>& f);

}  // namespace toroid
