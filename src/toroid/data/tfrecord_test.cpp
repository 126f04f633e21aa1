#include "toroid/data/tfrecord.h"

#include "toroid/base/crc32c.h"
#include "toroid/base/testing.h"

namespace toroid {
namespace {

// Written by tf.io.TFRecordWriter: the records "abc" and "".
const std::string kTwoRecords(
    "\x03\x00\x00\x00\x00\x00\x00\x00\xb0\x99\x49\x0e"
    "abc"
    "\x6e\x57\xf1\x21"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x29\x03\x98\x07"
    "\xd8\xea\x82\xa2",
    19 + 16);

std::filesystem::path write(const TemporaryFolder& folder, const std::string& bytes) {
  const auto path = folder / "a.tfrecord";
  write_file(path, bytes);
  return path;
}

/// Three records of 5, 6 and 7 bytes, from offsets 0, 21 and 43; 66 bytes.
std::string three_records() {
  std::string bytes;
  for (const char* payload : {"first", "second", "3-third"}) append_tfrecord(bytes, payload);
  return bytes;
}

TEST(TfRecord, WritesTheBytesThatTensorFlowWrites) {
  const TemporaryFolder folder;
  TfRecordWriter writer(folder / "a.tfrecord");
  writer.write("abc");
  writer.write("");
  EXPECT_EQ(writer.records(), 2);
  EXPECT_EQ(writer.bytes(), kTwoRecords.size());
  EXPECT_EQ(writer.checksum(), crc32c(kTwoRecords));
  EXPECT_FALSE(std::filesystem::exists(folder / "a.tfrecord"));
  writer.commit();
  EXPECT_EQ(read_file(folder / "a.tfrecord"), kTwoRecords);
}

TEST(TfRecord, ScanFindsEachRecordAndReadGivesItsPayload) {
  const TemporaryFolder folder;
  const TfRecordFile file(write(folder, three_records()));
  const auto records = file.scan();
  EXPECT_EQ(records, (std::vector<RecordSpan>{{0, 5}, {21, 6}, {43, 7}}));
  EXPECT_EQ(file.read(records[2], 2), "3-third");
  EXPECT_EQ(file.read(records[0], 0), "first");
}

TEST(TfRecord, AnEmptyFileHoldsNoRecords) {
  const TemporaryFolder folder;
  EXPECT_TRUE(TfRecordFile(write(folder, "")).scan().empty());
}

TEST(TfRecord, ADamagedPayloadIsOneRecordWithFileIndexAndOffset) {
  const TemporaryFolder folder;
  std::string bytes = three_records();
  bytes[21 + 12] ^= 1;
  const TfRecordFile file(write(folder, bytes));
  const auto records = file.scan();
  EXPECT_ERROR(file.read(records[1], 1),
               "a.tfrecord: record 1 at byte 21: the checksum of its payload is wrong");
  EXPECT_EQ(file.read(records[2], 2), "3-third");
}

TEST(TfRecord, ADamagedLengthSaysThatTheRestIsLost) {
  const TemporaryFolder folder;
  std::string bytes = three_records();
  bytes[43 + 1] ^= 1;
  EXPECT_ERROR(TfRecordFile(write(folder, bytes)).scan(),
               "a.tfrecord: record 2 at byte 43: the checksum of its length is wrong");
  EXPECT_ERROR(TfRecordFile(write(folder, bytes)).scan(),
               "this record and those after it cannot be found");
}

TEST(TfRecord, EachPlaceOfACutIsNamed) {
  const TemporaryFolder folder;
  const std::string whole = three_records();
  for (std::size_t size = 44; size < whole.size(); ++size) {
    const TfRecordFile file(write(folder, whole.substr(0, size)));
    EXPECT_ERROR(
        file.scan(),
        fmt::format(
            "record 2 at byte 43: the file is cut off: it ends at byte {}, inside this record's {}",
            size, size < 43 + 12 ? "header" : "payload of 7 bytes"));
  }
}

TEST(TfRecord, ALengthBeyondTheFileIsACutAndNoOverflow) {
  const TemporaryFolder folder;
  std::string bytes("\xff\xff\xff\xff\xff\xff\xff\xff", 8);
  const std::uint32_t crc = masked_crc32c(bytes);
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(crc >> shift));
  bytes += "payload";
  EXPECT_ERROR(TfRecordFile(write(folder, bytes)).scan(), "payload of 18446744073709551615 bytes");
}

TEST(TfRecord, CompressedShardsAreRefusedByName) {
  const TemporaryFolder folder;
  EXPECT_ERROR(
      TfRecordFile(
          write(folder, std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x4c", 12)))
          .scan(),
      "looks GZIP-compressed");
  EXPECT_ERROR(
      TfRecordFile(
          write(folder, std::string("\x78\x9c\x4b\x4c\x4a\x06\x00\x02\x4d\x01\x27\x00", 12)))
          .scan(),
      "looks ZLIB-compressed");
}

TEST(TfRecord, AnotherKindOfFileIsSaidToBeOne) {
  const TemporaryFolder folder;
  EXPECT_ERROR(TfRecordFile(write(folder, "<!DOCTYPE html><html>")).scan(),
               "this may be no TFRecord file");
}

TEST(TfRecord, ALengthThatLooksLikeGzipIsRead) {
  const TemporaryFolder folder;
  std::string bytes;
  append_tfrecord(bytes, std::string(0x8b1f, 'x'));
  ASSERT_EQ(bytes.substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(TfRecordFile(write(folder, bytes)).scan().size(), 1U);
}

}  // namespace
}  // namespace toroid
