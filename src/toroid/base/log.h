// Messages for people, on standard error; standard output is left to results.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

namespace toroid::log {

enum class Level { kInfo, kWarning, kError };

/// Writes one line to standard error ("warning: ...", "error: ..."); thread-safe.
void write(Level level, const std::string& message);
/// Put before every line from now on, e.g. "rank 3: ". Call it before threads start.
void set_prefix(const std::string& prefix);
/// Drops messages below this level. Call it before threads start.
void set_minimum(Level level);

template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kWarning, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  write(Level::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace toroid::log
