#include "toroid/train/run_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "toroid/base/error.h"
#include "toroid/base/machine.h"

namespace toroid {
namespace {

std::string holder(int descriptor) {
  std::string text(200, '\0');
  const ssize_t size = ::pread(descriptor, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text.empty() ? "another process" : text;
}

}  // namespace

RunLock::RunLock(const std::filesystem::path& folder) {
  const auto path = folder / "lock";
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail("{}: cannot create: {}", path.string(), std::strerror(errno));
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    const int code = errno;
    const std::string user = holder(descriptor_);
    ::close(descriptor_);
    if (code != EWOULDBLOCK) fail("{}: cannot lock: {}", path.string(), std::strerror(code));
    fail("{}: in use by {}; wait for it, or give another --out", folder.string(), user);
  }
  const std::string text = fmt::format("process {} on {}", ::getpid(), host_name());
  // Who holds it is for the message alone; the lock does not depend on it.
  if (::ftruncate(descriptor_, 0) == 0) {
    [[maybe_unused]] const ssize_t written = ::pwrite(descriptor_, text.data(), text.size(), 0);
  }
}

RunLock::~RunLock() {
  ::close(descriptor_);
}

}  // namespace toroid
