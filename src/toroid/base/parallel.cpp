#include "toroid/base/parallel.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace toroid {

void parallel_for(std::size_t n, int threads, const std::function<void(std::size_t)>& f) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::size_t first_bad = n;
  std::exception_ptr error;
  const auto work = [&] {
    // Indices are handed out in order, so every one below a failing index is tried too.
    for (std::size_t i = next++; i < n; i = next++) {
      try {
        f(i);
      } catch (...) {
        next = n;
        const std::lock_guard lock(mutex);
        if (i < first_bad) {
          first_bad = i;
          error = std::current_exception();
        }
      }
    }
  };
  std::vector<std::jthread> team;
  for (int t = 1; t < threads && static_cast<std::size_t>(t) < n; ++t) team.emplace_back(work);
  work();
  team.clear();  // joins
  if (error) std::rethrow_exception(error);
}

}  // namespace toroid
