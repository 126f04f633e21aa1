#include "toroid/base/file.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "toroid/base/error.h"

namespace toroid {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

[[noreturn]] void fail_errno(const std::filesystem::path& path, const char* what) {
  const int code = errno;
  fail("{}: cannot {}: {}", path.string(), what, std::strerror(code));
}

// A temporary file's name up to the number of the process that writes it.
std::string temporary_stem(const std::filesystem::path& path) {
  return fmt::format(".{}.tmp", path.filename().string());
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  const InputFile file(path);
  std::string content(file.size(), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(content)));
  return content;
}

void write_file(const std::filesystem::path& path, std::string_view content) {
  OutputFile file(path);
  file.write(content);
  file.commit();
}

void remove_abandoned(const std::filesystem::path& path) {
  const std::string stem = temporary_stem(path);
  std::error_code ignored;
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(stem) || name.size() == stem.size()) continue;
    if (name.find_first_not_of("0123456789", stem.size()) != std::string::npos) continue;
    std::filesystem::remove(entry.path(), ignored);
  }
}

void sync_directory(const std::filesystem::path& folder) {
  const auto target = folder.empty() ? std::filesystem::path(".") : folder;
  const int descriptor = ::open(target.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail_errno(target, "open folder");
  const int status = ::fsync(descriptor);
  ::close(descriptor);
  // Some network file systems cannot fsync a folder and say EINVAL; there is nothing to add then.
  if (status != 0 && errno != EINVAL) fail_errno(target, "fsync folder");
}

std::vector<std::filesystem::path> glob(const std::string& pattern) {
  glob_t found{};
  const int status = ::glob(pattern.c_str(), GLOB_ERR, nullptr, &found);
  std::vector<std::filesystem::path> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (status == GLOB_NOMATCH || paths.empty()) fail("{}: no file matches", pattern);
  if (status != 0) fail("{}: cannot list files (permission or disk error)", pattern);
  return paths;
}

InputFile::InputFile(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail_errno(path_, "open");
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0 || S_ISDIR(info.st_mode)) {
    if (S_ISDIR(info.st_mode)) errno = EISDIR;
    ::close(std::exchange(descriptor_, -1));
    fail_errno(path_, "read");
  }
  size_ = static_cast<std::uint64_t>(info.st_size);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = ::pread(descriptor_, out.data() + done, out.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno(path_, "read");
    if (got == 0) {
      fail("{}: ends at byte {}, but {} bytes were expected at offset {}", path_.string(),
           offset + done, out.size(), offset);
    }
    done += static_cast<std::size_t>(got);
  }
}

OutputFile::OutputFile(std::filesystem::path path) : path_(std::move(path)) {
  temporary_ = path_;
  temporary_.replace_filename(temporary_stem(path_) + std::to_string(::getpid()));
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail_errno(path_, "create");
  buffer_.reserve(kBufferBytes);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      written_(other.written_),
      buffer_(std::move(other.buffer_)) {}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void OutputFile::write(std::string_view bytes) {
  written_ += bytes.size();
  buffer_.append(bytes);
  if (buffer_.size() >= kBufferBytes) flush();
}

void OutputFile::flush() {
  std::size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t put = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail_errno(path_, "write");
    done += static_cast<std::size_t>(put);
  }
  buffer_.clear();
}

void OutputFile::commit() {
  flush();
  if (::fsync(descriptor_) != 0) fail_errno(path_, "fsync");
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_errno(path_, "close");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int code = errno;
    ::unlink(temporary_.c_str());
    errno = code;
    fail_errno(path_, "rename the finished file to");
  }
  sync_directory(path_.parent_path());
}

}  // namespace toroid
