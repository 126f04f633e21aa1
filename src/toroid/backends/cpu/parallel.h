// Threads of the kernels.
//
// A kernel's result does not depend on which thread does what: elements are independent, and sums
// are split into parts whose number depends on shapes alone, added up in order.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

#include "toroid/base/clones.h"

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace toroid::cpu {

/// Below this many elements a loop is not worth waking other threads: some 20 microseconds of one
/// thread, about what it takes to wake and join a team that has gone to sleep.
inline constexpr std::int64_t kParallelElements = 1 << 17;

/// Calls f(first, last) for disjoint ranges that cover 0..n-1, in parallel when n items of
/// `elements_per_item` are enough work. f must not throw.
template <class F>
void parallel_ranges(std::int64_t n, std::int64_t elements_per_item, F&& f) {
  const std::int64_t threads = omp_get_max_threads();
  if (threads == 1 || n < 2 || n * elements_per_item < kParallelElements) {
    f(std::int64_t{0}, n);
    return;
  }
  // Always the whole team: libgomp ends and restarts threads when a team shrinks and grows.
#pragma omp parallel
  {
    const std::int64_t team = omp_get_num_threads(), rank = omp_get_thread_num();
    const std::int64_t first = n * rank / team, last = n * (rank + 1) / team;
    if (first < last) f(first, last);
  }
}

/// While it lives, and if `serial`, this thread's parallel regions have one thread: for libraries
/// that would wake the team for small work.
class SerialScope {
 public:
  explicit SerialScope(bool serial) : threads_(omp_get_max_threads()) {
    if (serial) omp_set_num_threads(1);
  }
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;
  ~SerialScope() { omp_set_num_threads(threads_); }

 private:
  int threads_;
};

/// Into how many parts a sum over this many elements is split.
inline std::int64_t reduction_parts(std::int64_t elements) {
  return std::clamp<std::int64_t>(elements / 16384, 1, 64);
}

/// While it lives, this thread's parallel regions have `threads` threads, all of which treat
/// denormal numbers as zero; before and after, whatever the program set.
class ThreadSettings {
 public:
  explicit ThreadSettings(int threads)
      : threads_(omp_get_max_threads()), dynamic_(omp_get_dynamic()), control_(control()) {
    omp_set_num_threads(threads);
    omp_set_dynamic(0);
    set_controls(control_ | kFlushDenormals);
  }
  ThreadSettings(const ThreadSettings&) = delete;
  ThreadSettings& operator=(const ThreadSettings&) = delete;
  ~ThreadSettings() {
    set_controls(control_);
    omp_set_num_threads(threads_);
    omp_set_dynamic(dynamic_);
  }

 private:
  // The floating-point control register MXCSR; other machines keep their denormals.
#ifdef __SSE__
  static constexpr unsigned kFlushDenormals = 0x8040;  // results (FTZ) and operands (DAZ)
  static unsigned control() {
    return _mm_getcsr();
  }
  static void set_controls(unsigned value) {
#pragma omp parallel
    _mm_setcsr(value);
  }
#else
  static constexpr unsigned kFlushDenormals = 0;
  static unsigned control() {
    return 0;
  }
  static void set_controls(unsigned) {}
#endif

  int threads_, dynamic_;
  unsigned control_;
};

}  // namespace toroid::cpu
