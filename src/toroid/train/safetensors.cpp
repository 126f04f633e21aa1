#include "toroid/train/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "toroid/base/error.h"

namespace toroid {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // the limit of the safetensors package
constexpr std::size_t kAlignment = 8;
constexpr const char* kMetadataKey = "__metadata__";

constexpr std::pair<DType, const char*> kDTypes[] = {
    {DType::f64, "F64"}, {DType::f32, "F32"}, {DType::bf16, "BF16"},   {DType::i32, "I32"},
    {DType::u32, "U32"}, {DType::u8, "U8"},   {DType::boolean, "BOOL"}};

const char* format_name(DType dtype) {
  for (const auto& [known, name] : kDTypes) {
    if (known == dtype) return name;
  }
  fail("no safetensors name for dtype {}", name_of(dtype));
}

// In quotes and on one line, whatever the file has for a name.
std::string quoted(const std::string& name) {
  return Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Which tensor of which file is being read, for messages.
struct Place {
  const std::filesystem::path& path;
  const std::string& name;

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    toroid::fail("{}: tensor {}: {}", path.string(), quoted(name),
                 fmt::format(format, std::forward<Args>(args)...));
  }
};

// The header's text: a little-endian length, then as many bytes.
std::string read_header(const InputFile& file) {
  const std::string path = file.path().string();
  if (file.size() < kLengthBytes) {
    fail("{}: not a safetensors file: {} bytes long, the header's length alone takes {}", path,
         file.size(), kLengthBytes);
  }
  std::uint64_t length = 0;
  file.read_at(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > file.size() - kLengthBytes) {
    fail("{}: not a safetensors file, or cut short: says its header has {} bytes, but {} follow",
         path, length, file.size() - kLengthBytes);
  }
  if (length > kLongestHeader) {
    fail("{}: header of {} bytes; the format allows {}", path, length, kLongestHeader);
  }
  std::string header(length, '\0');
  file.read_at(kLengthBytes, std::as_writable_bytes(std::span(header)));
  if (!header.starts_with('{')) {
    fail("{}: not a safetensors file: its header does not start with '{{'", path);
  }
  return header;
}

// JSON libraries keep the last of two equal keys; here they are an error.
Json parse_header(const std::string& text, const std::filesystem::path& path) {
  constexpr int kDeepest = 3;  // header, tensor, list
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kDeepest) fail("{}: the header is nested too deeply", path.string());
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed).second) {
      fail("{}: {} is twice in the header", path.string(), quoted(parsed.get<std::string>()));
    }
    return true;
  };
  try {
    return Json::parse(text, check);
  } catch (const Json::exception& error) {
    fail("{}: the header is not valid JSON: {}", path.string(), error.what());
  }
}

Metadata metadata_of(const Json& json, const std::filesystem::path& path) {
  if (!json.is_object()) fail("{}: {} is not an object", path.string(), kMetadataKey);
  Metadata result;
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) {
      fail("{}: {}: {} is not a string", path.string(), kMetadataKey, quoted(key));
    }
    result[key] = value.get<std::string>();
  }
  return result;
}

const Json& member(const Json& json, const char* key, const Place& place) {
  const auto found = json.find(key);
  if (found == json.end()) place.fail("has no {}", key);
  return *found;
}

DType dtype_from(const Json& json, const Place& place) {
  if (!json.is_string()) place.fail("dtype is not a string");
  for (const auto& [dtype, name] : kDTypes) {
    if (json.get<std::string>() == name) return dtype;
  }
  place.fail("dtype {} is not supported; F64, F32, BF16, I32, U32, U8 and BOOL are",
             quoted(json.get<std::string>()));
}

// A list of whole numbers that fit an int64.
std::vector<std::int64_t> numbers_from(const Json& json, const char* key, const Place& place) {
  if (!json.is_array()) place.fail("{} is not a list", key);
  std::vector<std::int64_t> result;
  for (const Json& number : json) {
    if (!number.is_number_unsigned() ||
        number.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) {
      place.fail("{} has an entry that is not a whole number from 0 to 2^63-1", key);
    }
    result.push_back(number.get<std::int64_t>());
  }
  return result;
}

// The bytes of a tensor, or nothing when they overflow.
std::optional<std::uint64_t> byte_count(DType dtype, const std::vector<std::int64_t>& shape) {
  auto product = static_cast<std::int64_t>(size_of(dtype));
  for (const std::int64_t dim : shape) {
    if (__builtin_mul_overflow(product, dim, &product)) return std::nullopt;
  }
  return static_cast<std::uint64_t>(product);
}

SafetensorsEntry entry_of(const std::string& name, const Json& json, std::uint64_t data_begin,
                          const InputFile& file) {
  const Place place{file.path(), name};
  if (!json.is_object()) place.fail("its entry is not an object");
  const DType dtype = dtype_from(member(json, "dtype", place), place);
  const auto shape = numbers_from(member(json, "shape", place), "shape", place);
  const auto range = numbers_from(member(json, "data_offsets", place), "data_offsets", place);
  if (range.size() != 2) place.fail("data_offsets has {} entries, not 2", range.size());
  const auto begin = static_cast<std::uint64_t>(range[0]);
  const auto end = static_cast<std::uint64_t>(range[1]);
  if (begin > end) place.fail("begins at byte {} and ends before it, at {}", begin, end);
  const std::uint64_t data_bytes = file.size() - data_begin;
  if (end > data_bytes) {
    place.fail("ends at byte {} of the data, of which the file has {}; is it cut short?", end,
               data_bytes);
  }
  const auto wanted = byte_count(dtype, shape);
  const Shape dims(shape);
  if (!wanted) place.fail("shape {} is too large", dims.str());
  if (*wanted != end - begin) {
    place.fail("{} of shape {} takes {} bytes, but its range has {}", format_name(dtype),
               dims.str(), *wanted, end - begin);
  }
  return {name, {dtype, dims}, data_begin + begin, data_begin + end};
}

// The tensors must cover the data from its start to its end, each byte once.
void check_cover(const std::vector<SafetensorsEntry>& entries, std::uint64_t data_begin,
                 const InputFile& file) {
  std::uint64_t covered = data_begin;
  const std::string* before = nullptr;
  for (const SafetensorsEntry& entry : entries) {
    const Place place{file.path(), entry.name};
    if (entry.begin < covered) place.fail("overlaps tensor {}", quoted(*before));
    if (entry.begin > covered) {
      place.fail("{} bytes before it belong to no tensor", entry.begin - covered);
    }
    covered = entry.end;
    before = &entry.name;
  }
  if (covered != file.size()) {
    fail("{}: {} bytes after the last tensor belong to none", file.path().string(),
         file.size() - covered);
  }
}

std::vector<const NamedTensor*> in_file_order(std::span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& tensor : tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(), [](const auto* left, const auto* right) {
    return size_of(left->tensor.dtype()) > size_of(right->tensor.dtype());
  });
  return order;
}

// The JSON text, padded with spaces so that the data begins at a multiple of the alignment.
std::string header_of(const std::vector<const NamedTensor*>& order, const Metadata& metadata,
                      const std::filesystem::path& path) {
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  std::set<std::string> names = {kMetadataKey};
  std::uint64_t offset = 0;
  for (const NamedTensor* entry : order) {
    if (!names.insert(entry->name).second) {
      fail("{}: cannot write two tensors named {}", path.string(), quoted(entry->name));
    }
    const TensorType& type = entry->tensor.type();
    header[entry->name] = {{"dtype", format_name(type.dtype)},
                           {"shape", type.shape.dims()},
                           {"data_offsets", {offset, offset + type.bytes()}}};
    offset += type.bytes();
  }
  try {
    std::string text = header.dump();
    text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
    return text;
  } catch (const Json::exception&) {
    fail("{}: cannot write: a tensor's name or the metadata is not UTF-8", path.string());
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : file_(path) {
  const std::string text = read_header(file_);
  const std::uint64_t data_begin = kLengthBytes + text.size();
  const Json header = parse_header(text, path);
  for (const auto& [name, json] : header.items()) {
    if (name == kMetadataKey) {
      metadata_ = metadata_of(json, path);
    } else {
      entries_.push_back(entry_of(name, json, data_begin, file_));
    }
  }
  std::stable_sort(entries_.begin(), entries_.end(), [](const auto& left, const auto& right) {
    return std::pair(left.begin, left.end) < std::pair(right.begin, right.end);
  });
  check_cover(entries_, data_begin, file_);
}

Tensor SafetensorsFile::read(const SafetensorsEntry& entry) const {
  Tensor tensor(entry.type);
  const std::span<std::byte> bytes(tensor.raw(), tensor.bytes());
  file_.read_at(entry.begin, bytes);
  if (entry.type.dtype == DType::boolean) {
    const auto wrong = std::find_if(bytes.begin(), bytes.end(),
                                    [](std::byte byte) { return byte > std::byte{1}; });
    if (wrong != bytes.end()) {
      Place{path(), entry.name}.fail("BOOL element {} is {}, neither 0 nor 1",
                                     wrong - bytes.begin(), std::to_integer<int>(*wrong));
    }
  }
  return tensor;
}

std::vector<NamedTensor> SafetensorsFile::read_all() const {
  std::vector<NamedTensor> tensors;
  for (const SafetensorsEntry& entry : entries_) tensors.push_back({entry.name, read(entry)});
  return tensors;
}

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const Metadata& metadata) {
  const auto order = in_file_order(tensors);
  const std::string header = header_of(order, metadata, path);
  const std::uint64_t length = header.size();
  OutputFile file(path);
  file.write({reinterpret_cast<const char*>(&length), sizeof length});
  file.write(header);
  for (const NamedTensor* entry : order) {
    file.write({reinterpret_cast<const char*>(entry->tensor.raw()), entry->tensor.bytes()});
  }
  file.commit();
}

}  // namespace toroid
