#include "toroid/data/example.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <limits>

#include "toroid/base/error.h"
#include "toroid/data/example.pb.h"

namespace toroid {
namespace {

constexpr const char* kEncoded = "image/encoded";
constexpr const char* kLabel = "image/class/label";
constexpr const char* kFormat = "image/format";
constexpr const char* kFilename = "image/filename";
constexpr const char* kHeight = "image/height";
constexpr const char* kWidth = "image/width";

enum class Presence { kRequired, kOptional };

/// "2 floats", "1 int64", "nothing".
std::string found_kind(const wire::Feature& feature) {
  const auto count = [](int n, const char* one) {
    return fmt::format("{} {}{}", n, one, n == 1 ? "" : "s");
  };
  switch (feature.kind_case()) {
    case wire::Feature::kBytesList:
      return count(feature.bytes_list().value_size(), "byte string");
    case wire::Feature::kFloatList:
      return count(feature.float_list().value_size(), "float");
    case wire::Feature::kInt64List:
      return count(feature.int64_list().value_size(), "int64 value");
    case wire::Feature::KIND_NOT_SET:
      break;
  }
  return "a feature without a value";
}

/// Reads features of one example, with errors that say which.
class FeatureReader {
 public:
  FeatureReader(wire::Example& example, std::string_view where)
      : features_(*example.mutable_features()->mutable_feature()), where_(where) {}

  /// The one byte string under the key; "" when it is optional and missing.
  std::string bytes(const char* key, Presence presence) {
    wire::Feature* feature = find(key, presence, "one byte string");
    if (feature == nullptr) return "";
    if (!feature->has_bytes_list() || feature->bytes_list().value_size() != 1) {
      fail_kind(key, "one byte string", *feature);
    }
    return std::move(*feature->mutable_bytes_list()->mutable_value(0));
  }

  /// The one integer under the key; 0 when it is optional and missing.
  std::int64_t integer(const char* key, Presence presence) {
    wire::Feature* feature = find(key, presence, "one int64");
    if (feature == nullptr) return 0;
    if (!feature->has_int64_list() || feature->int64_list().value_size() != 1) {
      fail_kind(key, "one int64", *feature);
    }
    return feature->int64_list().value(0);
  }

 private:
  wire::Feature* find(const char* key, Presence presence, const char* expected) {
    const auto found = features_.find(key);
    if (found != features_.end()) return &found->second;
    if (presence == Presence::kRequired) {
      fail("{}: the example has no \"{}\"; expected {} there", where_, key, expected);
    }
    return nullptr;
  }

  [[noreturn]] void fail_kind(const char* key, const char* expected, const wire::Feature& found) {
    fail("{}: \"{}\" should hold {}, but holds {}; write the shard again with that kind", where_,
         key, expected, found_kind(found));
  }

  google::protobuf::Map<std::string, wire::Feature>& features_;
  std::string_view where_;
};

}  // namespace

Example parse_example(std::string_view payload, std::string_view where) {
  wire::Example message;
  if (payload.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !message.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    fail("{}: the payload of {} bytes is no tf.Example; Toroid reads shards of labelled pictures",
         where, payload.size());
  }
  FeatureReader reader(message, where);
  Example example;
  example.encoded = reader.bytes(kEncoded, Presence::kRequired);
  if (example.encoded.empty()) fail("{}: \"{}\" is empty; expected a picture", where, kEncoded);
  example.label = reader.integer(kLabel, Presence::kRequired);
  example.format = reader.bytes(kFormat, Presence::kOptional);
  example.filename = reader.bytes(kFilename, Presence::kOptional);
  example.height = reader.integer(kHeight, Presence::kOptional);
  example.width = reader.integer(kWidth, Presence::kOptional);
  return example;
}

std::string serialize_example(const Example& example) {
  wire::Example message;
  auto& features = *message.mutable_features()->mutable_feature();
  const auto bytes = [&](const char* key, const std::string& value) {
    if (!value.empty()) features[key].mutable_bytes_list()->add_value(value);
  };
  const auto integer = [&](const char* key, std::int64_t value) {
    features[key].mutable_int64_list()->add_value(value);
  };
  bytes(kEncoded, example.encoded);
  integer(kLabel, example.label);
  bytes(kFormat, example.format);
  bytes(kFilename, example.filename);
  if (example.height > 0) integer(kHeight, example.height);
  if (example.width > 0) integer(kWidth, example.width);

  std::string out;
  google::protobuf::io::StringOutputStream stream(&out);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);  // map entries in the order of their keys
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return out;
}

}  // namespace toroid
