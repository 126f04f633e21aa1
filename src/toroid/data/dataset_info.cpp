#include "toroid/data/dataset_info.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "toroid/base/error.h"
#include "toroid/base/file.h"

namespace toroid {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "toroid-dataset";
constexpr int kVersion = 1;

/// One object of the file, whose keys are read by kind, with errors that give the key's path.
class ObjectReader {
 public:
  ObjectReader(const Json& object, std::string path, const std::filesystem::path& file)
      : object_(object), path_(std::move(path)), file_(file) {
    if (!object.is_object()) fail_kind("", "an object", object);
  }

  std::int64_t count(const char* key) const {
    const Json& value = at(key);
    if (!value.is_number_integer() || value.get<std::int64_t>() < 0) {
      fail_kind(key, "a count", value);
    }
    return value.get<std::int64_t>();
  }
  std::string text(const char* key) const {
    const Json& value = at(key);
    if (!value.is_string()) fail_kind(key, "a string", value);
    return value.get<std::string>();
  }
  const Json& array(const char* key) const {
    const Json& value = at(key);
    if (!value.is_array()) fail_kind(key, "an array", value);
    return value;
  }
  ObjectReader object(const char* key) const { return {at(key), path_ + key + ".", file_}; }
  ObjectReader element(const char* key, std::size_t index) const {
    return {array(key).at(index), fmt::format("{}{}[{}].", path_, key, index), file_};
  }
  const Json& json() const { return object_; }
  [[noreturn]] void fail_kind(const std::string& key, const char* expected,
                              const Json& found) const {
    fail("{}: \"{}{}\" should be {}, but is {}; prepare the data set again", file_.string(), path_,
         key, expected, found.dump());
  }

 private:
  const Json& at(const char* key) const {
    const auto found = object_.find(key);
    if (found == object_.end()) {
      fail("{}: key \"{}{}\" is missing; prepare the data set again", file_.string(), path_, key);
    }
    return *found;
  }

  const Json& object_;
  std::string path_;
  const std::filesystem::path& file_;
};

std::uint32_t parse_checksum(const ObjectReader& shard) {
  const std::string text = shard.text("crc32c");
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size() || text.size() != 8) {
    shard.fail_kind("crc32c", "8 hexadecimal digits", Json(text));
  }
  return value;
}

SplitInfo read_split(const std::string& name, const ObjectReader& object, std::size_t classes) {
  SplitInfo split;
  split.name = name;
  split.examples = object.count("examples");
  const Json& per_class = object.array("examples_per_class");
  for (const Json& count : per_class) {
    if (!count.is_number_integer()) object.fail_kind("examples_per_class", "counts", per_class);
    split.examples_per_class.push_back(count.get<std::int64_t>());
  }
  if (per_class.size() != classes) {
    object.fail_kind("examples_per_class", "one count per class", per_class);
  }
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < object.array("shards").size(); ++i) {
    const ObjectReader shard = object.element("shards", i);
    split.shards.push_back({shard.text("file"), shard.count("examples"),
                            static_cast<std::uint64_t>(shard.count("bytes")),
                            parse_checksum(shard)});
    sum += split.shards.back().examples;
  }
  if (sum != split.examples) {
    object.fail_kind("examples", "the sum over the shards", object.json().at("examples"));
  }
  return split;
}

}  // namespace

DatasetInfo read_dataset_info(const std::filesystem::path& path) {
  Json json;
  try {
    json = Json::parse(read_file(path));
  } catch (const Json::parse_error& error) {
    fail("{}: is no JSON (at byte {}); prepare the data set again", path.string(), error.byte);
  }
  const ObjectReader root(json, "", path);
  if (root.text("format") != kFormat || root.count("version") != kVersion) {
    fail("{}: is \"{}\" version {}; this program reads \"{}\" version {}", path.string(),
         root.text("format"), root.count("version"), kFormat, kVersion);
  }
  DatasetInfo info;
  info.prepared_by = root.text("prepared_by");
  for (const Json& name : root.array("classes")) {
    if (!name.is_string()) root.fail_kind("classes", "an array of names", root.array("classes"));
    info.classes.push_back(name.get<std::string>());
  }
  info.channels = static_cast<int>(root.count("channels"));
  if (info.channels != 1 && info.channels != 3)
    root.fail_kind("channels", "1 or 3", json["channels"]);
  info.height = static_cast<int>(root.count("height"));
  info.width = static_cast<int>(root.count("width"));
  const ObjectReader splits = root.object("splits");
  for (const auto& [name, unused] : splits.json().items()) {
    info.splits.push_back(read_split(name, splits.object(name.c_str()), info.classes.size()));
  }
  return info;
}

std::string dataset_info_text(const DatasetInfo& info) {
  Json json = {
      {"format", kFormat},       {"version", kVersion},       {"prepared_by", info.prepared_by},
      {"classes", info.classes}, {"channels", info.channels}, {"height", info.height},
      {"width", info.width},     {"splits", Json::object()}};
  for (const SplitInfo& split : info.splits) {
    Json shards = Json::array();
    for (const ShardInfo& shard : split.shards) {
      shards.push_back({{"file", shard.file},
                        {"examples", shard.examples},
                        {"bytes", shard.bytes},
                        {"crc32c", fmt::format("{:08x}", shard.crc32c)}});
    }
    json["splits"][split.name] = {{"examples", split.examples},
                                  {"examples_per_class", split.examples_per_class},
                                  {"shards", shards}};
  }
  return json.dump(2) + "\n";
}

}  // namespace toroid
