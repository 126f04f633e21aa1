#include "toroid/backends/cpu/arena.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <utility>

#include "toroid/base/error.h"

namespace toroid::cpu {

Arena::Arena(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {
    throw Error(fmt::format("cpu: a step needs {} MiB of memory, which this machine does not give; "
                            "make the batch smaller",
                            bytes >> 20),
                ExitStatus::kDoesNotFit);
  }
  constexpr std::size_t kHugePage = 2 << 20;
  if (bytes >= 8 * kHugePage)
    ::madvise(mapped, bytes, MADV_HUGEPAGE);  // a wish; either way is fine
  data_ = static_cast<std::byte*>(mapped);
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Arena::~Arena() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace toroid::cpu
