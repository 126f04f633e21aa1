// A log file that grows at its end, for readers that watch it while it is written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace toroid {

/// Each append() is in the file when it returns (in the system's cache: it survives the end of this
/// process, not a power loss), whole or not at all. Errors are Errors with the path and the reason.
class AppendFile {
 public:
  /// Opens the file, creating it where there is none.
  explicit AppendFile(std::filesystem::path path);
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&&) = delete;
  ~AppendFile();

  const std::filesystem::path& path() const { return path_; }
  void append(std::string_view bytes);

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace toroid
