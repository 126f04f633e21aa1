#include "toroid/data/tfrecord.h"

#include <array>
#include <span>

#include "toroid/base/crc32c.h"
#include "toroid/base/error.h"

namespace toroid {
namespace {

template <class Word>
void put_little_endian(std::string& out, Word word) {
  for (std::size_t i = 0; i < sizeof(Word); ++i) out.push_back(static_cast<char>(word >> (8 * i)));
}

template <class Word>
Word get_little_endian(const char* bytes) {
  Word word = 0;
  for (std::size_t i = 0; i < sizeof(Word); ++i) {
    word |= static_cast<Word>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return word;
}

using Header = std::array<char, kTfRecordHeaderBytes>;

bool length_is_intact(const Header& header) {
  return get_little_endian<std::uint32_t>(header.data() + 8) == masked_crc32c({header.data(), 8});
}

/// "GZIP" or "ZLIB" when the file starts like one, else null. Asked only once the first length has
/// failed its check, since a length may begin with the same bytes.
const char* compression_of(const Header& start) {
  const auto first = static_cast<unsigned char>(start[0]);
  const auto second = static_cast<unsigned char>(start[1]);
  if (first == 0x1f && second == 0x8b) return "GZIP";
  if ((first & 0x0f) == 8 && (first * 256 + second) % 31 == 0) return "ZLIB";  // RFC 1950, 2.2
  return nullptr;
}

[[noreturn]] void fail_length(const std::filesystem::path& path, std::int64_t index,
                              std::uint64_t offset, const Header& header) {
  if (offset == 0) {
    if (const char* kind = compression_of(header)) {
      fail("{}: looks {}-compressed, and compressed shards cannot be read; decompress it first",
           path.string(), kind);
    }
  }
  fail(
      "{}: the checksum of its length is wrong (stored {:08x}, computed {:08x}){}, so this record "
      "and those after it cannot be found; make the file again or restore it from a copy",
      describe_record(path, index, offset), get_little_endian<std::uint32_t>(header.data() + 8),
      masked_crc32c({header.data(), 8}), offset == 0 ? "; this may be no TFRecord file" : "");
}

[[noreturn]] void fail_cut_off(const std::filesystem::path& path, std::int64_t index,
                               std::uint64_t offset, std::uint64_t size, std::string_view missing) {
  fail("{}: the file is cut off: it ends at byte {}, inside this record's {}; copy it again",
       describe_record(path, index, offset), size, missing);
}

}  // namespace

std::string describe_record(const std::filesystem::path& path, std::int64_t index,
                            std::uint64_t offset) {
  return fmt::format("{}: record {} at byte {}", path.string(), index, offset);
}

void append_tfrecord(std::string& out, std::string_view payload) {
  const std::size_t start = out.size();
  put_little_endian(out, static_cast<std::uint64_t>(payload.size()));
  put_little_endian(out, masked_crc32c(std::string_view(out).substr(start, 8)));
  out.append(payload);
  put_little_endian(out, masked_crc32c(payload));
}

std::vector<RecordSpan> TfRecordFile::scan() const {
  std::vector<RecordSpan> records;
  const std::uint64_t size = file_.size();
  std::uint64_t offset = 0;
  while (offset < size) {
    const auto index = static_cast<std::int64_t>(records.size());
    Header header{};
    if (size - offset < header.size()) fail_cut_off(path(), index, offset, size, "header");
    file_.read_at(offset, std::as_writable_bytes(std::span(header)));
    if (!length_is_intact(header)) fail_length(path(), index, offset, header);
    const auto length = get_little_endian<std::uint64_t>(header.data());
    const std::uint64_t left = size - offset - kTfRecordHeaderBytes;
    if (left < kTfRecordFooterBytes || length > left - kTfRecordFooterBytes) {
      fail_cut_off(path(), index, offset, size, fmt::format("payload of {} bytes", length));
    }
    records.push_back({offset, length});
    offset += kTfRecordHeaderBytes + length + kTfRecordFooterBytes;
  }
  return records;
}

std::string TfRecordFile::read(const RecordSpan& record, std::int64_t index) const {
  const std::uint64_t framing = kTfRecordHeaderBytes + kTfRecordFooterBytes;
  if (record.offset > file_.size() || file_.size() - record.offset < framing ||
      record.length > file_.size() - record.offset - framing) {
    fail_cut_off(path(), index, record.offset, file_.size(),
                 fmt::format("payload of {} bytes", record.length));
  }
  std::string bytes(record.length + framing, '\0');
  file_.read_at(record.offset, std::as_writable_bytes(std::span(bytes)));
  Header header{};
  bytes.copy(header.data(), header.size());
  if (!length_is_intact(header)) fail_length(path(), index, record.offset, header);
  const auto length = get_little_endian<std::uint64_t>(header.data());
  if (length != record.length) {
    fail("{}: holds {} bytes where {} were found when the file was opened; it changed meanwhile",
         describe_record(path(), index, record.offset), length, record.length);
  }
  const std::string_view payload(bytes.data() + kTfRecordHeaderBytes, length);
  const auto stored = get_little_endian<std::uint32_t>(payload.data() + length);
  if (stored != masked_crc32c(payload)) {
    fail(
        "{}: the checksum of its payload is wrong (stored {:08x}, computed {:08x}): the {} bytes "
        "of this record are damaged, others may be sound; make the file again or restore it from a "
        "copy",
        describe_record(path(), index, record.offset), stored, masked_crc32c(payload), length);
  }
  bytes.erase(bytes.size() - kTfRecordFooterBytes);
  bytes.erase(0, kTfRecordHeaderBytes);
  return bytes;
}

void TfRecordWriter::write(std::string_view payload) {
  frame_.clear();
  append_tfrecord(frame_, payload);
  crc_ = crc32c(frame_, crc_);
  file_.write(frame_);
  ++records_;
}

}  // namespace toroid
