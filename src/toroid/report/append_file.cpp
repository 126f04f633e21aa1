#include "toroid/report/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "toroid/base/error.h"

namespace toroid {

AppendFile::AppendFile(std::filesystem::path path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail("{}: cannot open for writing: {}", path_.string(), strerror(errno));
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void AppendFile::append(std::string_view bytes) {
  const off_t start = ::lseek(descriptor_, 0, SEEK_END);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const int code = errno;
      // A torn record in the middle would hide every later one from readers.
      const bool torn = start < 0 || ::ftruncate(descriptor_, start) != 0;
      fail("{}: cannot append: {}{}", path_.string(), std::strerror(code),
           torn ? " (the file now ends with an unfinished record)" : "");
    }
    done += static_cast<std::size_t>(put);
  }
}

}  // namespace toroid
