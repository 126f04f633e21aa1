#include "toroid/report/events.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <string>

#include "toroid/base/crc32c.h"
#include "toroid/base/error.h"
#include "toroid/base/machine.h"
#include "toroid/report/event.pb.h"

namespace toroid {
namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// TensorBoard reads a folder's files in the order of their names, and a START event only drops what
// was read before it. So a new file must sort last, also within one second or after a clock went
// back.
std::filesystem::path next_file(const std::filesystem::path& folder) {
  auto seconds = static_cast<std::int64_t>(seconds_now());
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    std::int64_t earlier = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), earlier);
    seconds = std::max(seconds, earlier + 1);
  }
  return folder / fmt::format("{}{:010}.{}.{}", kPrefix, seconds, host_name(), ::getpid());
}

template <class T>
std::string little_endian(T value) {
  static_assert(std::endian::native == std::endian::little);
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// A TFRecord: length, masked CRC of the length, payload, masked CRC of the payload.
std::string record(const proto::Event& event) {
  const std::string payload = event.SerializeAsString();
  const std::string length = little_endian<std::uint64_t>(payload.size());
  return length + little_endian(masked_crc32c(length)) + payload +
         little_endian(masked_crc32c(payload));
}

}  // namespace

EventWriter::EventWriter(const std::filesystem::path& folder,
                         std::optional<std::int64_t> resumed_step)
    : file_(next_file(folder)) {
  proto::Event version;
  version.set_wall_time(seconds_now());
  version.set_file_version("brain.Event:2");
  proto::Event start;
  start.set_wall_time(version.wall_time());
  // TensorBoard drops the steps from this one on, itself included.
  start.set_step(resumed_step ? *resumed_step + 1 : 0);
  start.mutable_session_log()->set_status(proto::SessionLog::START);
  file_.append(record(version) + record(start));
}

void EventWriter::write(std::int64_t step, const NamedValues& values) {
  proto::Event event;
  event.set_wall_time(seconds_now());
  event.set_step(step);
  for (const NamedValue& value : values) {
    proto::Summary::Value* entry = event.mutable_summary()->add_value();
    entry->set_tag(value.name);
    entry->set_simple_value(static_cast<float>(value.value));
  }
  file_.append(record(event));
}

}  // namespace toroid
