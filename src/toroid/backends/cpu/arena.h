// The memory of a step.
#pragma once

#include <cstddef>

namespace toroid::cpu {

/// Uninitialised memory, aligned to a page. Large ones are in huge pages where the system has them:
/// a step touches gigabytes, and entering them page by page would cost more than some kernels.
class Arena {
 public:
  Arena() = default;
  /// Error (exit status 3) when the machine does not give that much.
  explicit Arena(std::size_t bytes);
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  std::byte* data() { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace toroid::cpu
