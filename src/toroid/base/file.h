// Files: whole reads, reads at an offset, and writes that are complete or not there.
// Every failure is an Error with the path and the system's reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace toroid {

/// The whole file as bytes.
std::string read_file(const std::filesystem::path& path);

/// Publishes `content` under `path`: written beside it under a temporary name, fsynced, renamed,
/// folder fsynced. A reader sees the old file or the new one, also after a power loss.
void write_file(const std::filesystem::path& path, std::string_view content);

/// Removes the temporary files of writers of `path` that were killed. Only for a path that nobody
/// else is writing now.
void remove_abandoned(const std::filesystem::path& path);

/// Makes renames and creations inside `folder` durable.
void sync_directory(const std::filesystem::path& folder);

/// The files that match a pattern with `*`, `?` and `[..]` in any component, sorted by name;
/// a pattern without wildcards matches itself. Error when nothing matches.
std::vector<std::filesystem::path> glob(const std::string& pattern);

/// A file open for reading at any offset; safe to use from several threads at once.
class InputFile {
 public:
  explicit InputFile(std::filesystem::path path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  ~InputFile();

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t size() const { return size_; }
  /// Fills `out` from `offset`; Error naming path and offset when the file is shorter.
  void read_at(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// A file written from front to back. It has a temporary name beside `path` until commit();
/// destroyed before that, it leaves nothing behind.
class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  void write(std::string_view bytes);
  std::uint64_t written() const { return written_; }
  /// fsync, rename to the final name, fsync of the folder.
  void commit();

 private:
  void flush();

  std::filesystem::path path_, temporary_;
  int descriptor_ = -1;
  std::uint64_t written_ = 0;
  std::string buffer_;
};

}  // namespace toroid
