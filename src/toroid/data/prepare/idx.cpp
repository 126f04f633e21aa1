#include "toroid/data/prepare/idx.h"

#include <zlib.h>

#include <limits>

#include "toroid/base/error.h"
#include "toroid/base/file.h"

namespace toroid {
namespace {

/// Decompresses all gzip members of a file.
std::string gunzip(const std::string& bytes, const std::string& path) {
  constexpr int kGzipOnly = 15 + 16;  // the largest window, and the gzip format
  z_stream stream{};
  if (::inflateInit2(&stream, kGzipOnly) != Z_OK) fail("{}: zlib cannot start", path);
  struct Cleanup {
    z_stream& stream;
    ~Cleanup() { ::inflateEnd(&stream); }
  } cleanup{stream};
  std::string out;
  std::string piece(1 << 20, '\0');
  std::size_t given = 0;
  while (true) {
    if (stream.avail_in == 0 && given < bytes.size()) {
      const std::size_t part = std::min<std::size_t>(bytes.size() - given, 1 << 30);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + given));
      stream.avail_in = static_cast<uInt>(part);
      given += part;
    }
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    const int status = ::inflate(&stream, Z_NO_FLUSH);
    out.append(piece, 0, piece.size() - stream.avail_out);
    if (status == Z_STREAM_END) {
      if (stream.avail_in == 0 && given == bytes.size()) return out;
      ::inflateReset(&stream);  // another member follows
    } else if (status == Z_BUF_ERROR) {
      fail("{}: the gzip file is cut off after {} bytes; copy it again", path, bytes.size());
    } else if (status != Z_OK) {
      fail("{}: the gzip file is damaged ({}); copy it again", path,
           stream.msg != nullptr ? stream.msg : "no reason given");
    }
  }
}

std::uint32_t big_endian(const std::string& bytes, std::size_t offset) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    word = (word << 8) | static_cast<unsigned char>(bytes[offset + i]);
  }
  return word;
}

}  // namespace

IdxFile read_idx(const std::filesystem::path& path, int dimensions) {
  const std::string name = path.string();
  std::string bytes = read_file(path);
  if (bytes.starts_with("\x1f\x8b")) bytes = gunzip(bytes, name);
  const std::size_t header = 4 + 4 * static_cast<std::size_t>(dimensions);
  const std::uint32_t expected = 0x0800U + static_cast<std::uint32_t>(dimensions);
  if (bytes.size() >= 4 && big_endian(bytes, 0) != expected) {
    fail("{}: begins with {:08x}, but an IDX file of {} begins with {:08x}{}", name,
         big_endian(bytes, 0), dimensions == 1 ? "labels" : "pictures", expected,
         (big_endian(bytes, 0) | 3) == 0x0803 ? "; are pictures and labels swapped?" : "");
  }
  if (bytes.size() < header) {
    fail("{}: is cut off: an IDX file has {} header bytes, this one {}", name, header,
         bytes.size());
  }
  IdxFile file;
  std::uint64_t count = 1;
  for (int d = 0; d < dimensions; ++d) {
    const std::uint32_t size = big_endian(bytes, 4 + 4 * static_cast<std::size_t>(d));
    file.sizes.push_back(size);
    if (size != 0 && count > std::numeric_limits<std::uint64_t>::max() / size) {
      fail("{}: claims more elements than fit in 64 bits; the header is damaged", name);
    }
    count *= size;
  }
  if (bytes.size() - header != count) {
    fail("{}: should hold {} bytes after its header, but holds {}; it is cut off or damaged", name,
         count, bytes.size() - header);
  }
  file.elements = bytes.erase(0, header);
  return file;
}

}  // namespace toroid
