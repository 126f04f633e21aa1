// TFRecord files: a sequence of records, each
//   u64 length (little-endian) | u32 masked CRC-32C of those 8 bytes | payload | u32 masked CRC-32C
//   of the payload
// (docs/formats/tfrecord.md; the format of TensorFlow's tf.io.TFRecordWriter).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "toroid/base/file.h"

namespace toroid {

/// Bytes around a payload: 12 before it, 4 after it.
inline constexpr std::uint64_t kTfRecordHeaderBytes = 12;
inline constexpr std::uint64_t kTfRecordFooterBytes = 4;

/// Appends the payload's record, framing included, to `out`.
void append_tfrecord(std::string& out, std::string_view payload);

/// Where one record lies in its file.
struct RecordSpan {
  std::uint64_t offset = 0;  ///< of the record's first byte (its length field)
  std::uint64_t length = 0;  ///< bytes of the payload alone
  friend bool operator==(const RecordSpan&, const RecordSpan&) = default;
};

/// An uncompressed TFRecord file, open for random access from several threads.
class TfRecordFile {
 public:
  explicit TfRecordFile(const std::filesystem::path& path) : file_(path) {}

  const std::filesystem::path& path() const { return file_.path(); }
  std::uint64_t bytes() const { return file_.size(); }

  /// Finds every record from the headers alone, checking each length's CRC, not the payloads.
  /// Errors name the file, the record's index and byte offset: a damaged length, a file that is cut
  /// off, a file that is compressed or no TFRecord file at all.
  std::vector<RecordSpan> scan() const;

  /// The payload of a record, with both CRCs checked. `index` is its place in the file, for errors,
  /// which tell a damaged length (nothing after it can be found) from a damaged payload (only this
  /// record is lost).
  std::string read(const RecordSpan& record, std::int64_t index) const;

 private:
  InputFile file_;
};

/// Writes a TFRecord file; it gets its name at commit().
class TfRecordWriter {
 public:
  explicit TfRecordWriter(const std::filesystem::path& path) : file_(path) {}

  void write(std::string_view payload);
  std::int64_t records() const { return records_; }
  std::uint64_t bytes() const { return file_.written(); }
  /// CRC-32C (not masked) of all bytes of the file so far.
  std::uint32_t checksum() const { return crc_; }
  void commit() { file_.commit(); }

 private:
  OutputFile file_;
  std::int64_t records_ = 0;
  std::uint32_t crc_ = 0;  // of what was written
  std::string frame_;
};

/// "train-00000-of-00012.tfrecord: record 7 at byte 1234": how errors name a record.
std::string describe_record(const std::filesystem::path& path, std::int64_t index,
                            std::uint64_t offset);

}  // namespace toroid
