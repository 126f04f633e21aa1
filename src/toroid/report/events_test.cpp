#include "toroid/report/events.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <limits>

#include "toroid/base/crc32c.h"
#include "toroid/base/file.h"
#include "toroid/base/testing.h"

namespace toroid {
namespace {

namespace fs = std::filesystem;

template <class T>
T number_at(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// The payloads of the records, both CRCs of each checked.
std::vector<std::string> payloads(const fs::path& path) {
  const std::string content = read_file(path);
  std::string_view rest = content;
  std::vector<std::string> result;
  while (rest.size() >= 16) {
    const auto length = number_at<std::uint64_t>(rest, 0);
    EXPECT_EQ(number_at<std::uint32_t>(rest, 8), masked_crc32c(rest.substr(0, 8)));
    if (length + 16 > rest.size()) break;
    const auto payload = rest.substr(12, length);
    EXPECT_EQ(number_at<std::uint32_t>(rest, 12 + length), masked_crc32c(payload));
    result.emplace_back(payload);
    rest.remove_prefix(length + 16);
  }
  EXPECT_TRUE(rest.empty());
  return result;
}

// What follows the wall time (key 0x09 and eight bytes).
std::string after_time(const std::string& payload) {
  EXPECT_EQ(payload[0], 0x09);
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  EXPECT_NEAR(number_at<double>(payload, 1), now, 60);
  return payload.substr(9);
}

TEST(Events, AFreshFileHoldsTheVersionAStartAtZeroAndTheScalars) {
  const TemporaryFolder folder;
  EventWriter writer(folder.path());
  writer.write(300, {{"loss", 0.5}, {"top1", 1.0}});
  const auto records = payloads(writer.path());
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(after_time(records[0]),
            "\x1a\x0d"
            "brain.Event:2");
  EXPECT_EQ(after_time(records[1]), "\x3a\x02\x08\x01");
  const std::string expected =
      "\x10\xac\x02"  // step 300
      "\x2a\x1a"      // summary, 26 bytes
      "\x0a\x0b\x0a\x04loss\x15" +
      std::string("\x00\x00\x00\x3f", 4) +                              // 0.5f
      "\x0a\x0b\x0a\x04top1\x15" + std::string("\x00\x00\x80\x3f", 4);  // 1.0f
  EXPECT_EQ(after_time(records[2]), expected);
}

TEST(Events, ResumingAtStep100DropsFromStep101) {
  const TemporaryFolder folder;
  const EventWriter writer(folder.path(), 100);
  EXPECT_EQ(after_time(payloads(writer.path()).at(1)), "\x10\x65\x3a\x02\x08\x01");
}

TEST(Events, NonFiniteValuesAreKept) {
  const TemporaryFolder folder;
  EventWriter writer(folder.path());
  writer.write(1, {{"n", std::numeric_limits<double>::quiet_NaN()},
                   {"i", -std::numeric_limits<double>::infinity()}});
  const std::string payload = payloads(writer.path()).at(2);
  EXPECT_NE(payload.find(std::string("\x15\x00\x00\xc0\x7f", 5)), std::string::npos);
  EXPECT_NE(payload.find(std::string("\x15\x00\x00\x80\xff", 5)), std::string::npos);
}

TEST(Events, ALaterAttemptsFileSortsLastEvenWithinASecondOrUnderAClockThatWentBack) {
  const TemporaryFolder folder;
  write_file(folder / "events.out.tfevents.4000000000.host.1", "");
  const EventWriter first(folder.path()), second(folder.path(), 7);
  EXPECT_TRUE(first.path().filename().string().starts_with("events.out.tfevents.4000000001."));
  EXPECT_TRUE(second.path().filename().string().starts_with("events.out.tfevents.4000000002."));
}

TEST(Events, AMissingFolderIsNamed) {
  const TemporaryFolder folder;
  EXPECT_ERROR(EventWriter(folder / "none"), "/none/events.out.tfevents.");
}

}  // namespace
}  // namespace toroid
