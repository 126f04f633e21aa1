// The one exception type of the project, and the exit statuses that the command line maps it to.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace toroid {

/// Exit status of the program; a shell script can rely on these.
enum class ExitStatus {
  kDone = 0,
  kFailed = 1,      ///< the work could not be done (bad file, dead rank, full disk)
  kUsage = 2,       ///< what the user wrote must change: a flag, a recipe key
  kDoesNotFit = 3,  ///< the program is larger than the device's memory
  kPreempted = 75,  ///< stopped by request after saving; starting again goes on
};

/// An error a user can act on. The message is one line: it names the thing (file and byte offset,
/// recipe key and line, op path and shapes, rank), what was expected, and what to do.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, ExitStatus status = ExitStatus::kFailed)
      : std::runtime_error(message), status_(status) {}
  ExitStatus status() const { return status_; }

 private:
  ExitStatus status_;
};

/// Throws Error with a formatted message: the work cannot be done.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

/// Throws Error with a formatted message: what the user wrote must change (exit status 2).
template <class... Args>
[[noreturn]] void fail_usage(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...), ExitStatus::kUsage);
}

}  // namespace toroid
