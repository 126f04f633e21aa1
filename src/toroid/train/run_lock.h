// One process at a time in a run folder.
#pragma once

#include <filesystem>

namespace toroid {

/// Holds `folder`/lock while it lives; the system lets go when the process ends, however it ends.
class RunLock {
 public:
  /// Error naming the process and host that hold the folder.
  explicit RunLock(const std::filesystem::path& folder);
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;
  ~RunLock();

 private:
  int descriptor_ = -1;
};

}  // namespace toroid
