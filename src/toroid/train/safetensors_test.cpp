#include "toroid/train/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "toroid/base/testing.h"

namespace toroid {
namespace {

std::string length_of(std::uint64_t length) {
  return {reinterpret_cast<const char*>(&length), sizeof length};
}

// A file with this header and so many zero bytes of data.
std::string with_header(const std::string& header, std::size_t data_bytes) {
  return length_of(header.size()) + header + std::string(data_bytes, '\0');
}

// What is wrong with a file of these bytes.
std::string complaint(const std::string& content) {
  const TemporaryFolder folder;
  write_file(folder / "x.safetensors", content);
  const std::string message =
      error_of([&] { SafetensorsFile(folder / "x.safetensors").read_all(); });
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_TRUE(message.starts_with((folder / "x.safetensors: ").string())) << message;
  return message.substr(std::min(message.size(), folder.path().string().size() + 1));
}

#define EXPECT_COMPLAINT(content, text)                       \
  do {                                                        \
    const std::string toroid_complaint = complaint(content);  \
    EXPECT_NE(toroid_complaint.find(text), std::string::npos) \
        << "complaint: " << toroid_complaint;                 \
  } while (false)

TEST(Safetensors, TheBytesAreThoseOfTheFormat) {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors = {{"small", Tensor::of<std::uint8_t>({3}, {1, 2, 255})},
                                            {"w", Tensor::of<float>({1, 2}, {1.0F, -2.0F})}};
  write_safetensors(folder / "a", tensors, {{"k", "v"}});
  std::string header =
      R"({"__metadata__":{"k":"v"},"w":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
      R"("small":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(read_file(folder / "a"), length_of(header.size()) + header +
                                         std::string("\0\0\x80\x3f\0\0\0\xc0", 8) + "\1\2\xff");
}

TEST(Safetensors, EveryTypeAndTheEmptyAndScalarShapesComeBackBitForBit) {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> tensors = {
      {"f64", Tensor::of<double>({2}, {0.1, -0.0})},
      {"empty64", Tensor(DType::f64, {0})},
      {"f32", Tensor::of<float>({1, 1, 2}, {std::numeric_limits<float>::quiet_NaN(), 1e-40F})},
      {"i32", Tensor::scalar<std::int32_t>(-7)},
      {"u32", Tensor::scalar<std::uint32_t>(4000000000U)},
      {"bf16", Tensor::of<BFloat16>({1}, {BFloat16(1.5F)})},
      {"u8", Tensor::of<std::uint8_t>({3}, {0, 128, 255})},
      {"bool", Tensor::of<bool>({2}, {true, false})},
      {"empty \"quoted\" \xc3\xa9", Tensor(DType::u8, {3, 0, 2})}};
  write_safetensors(folder / "a", tensors, {{"who", "toroid"}});
  const SafetensorsFile file(folder / "a");
  const std::vector<NamedTensor> again = file.read_all();
  ASSERT_EQ(again.size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto found = std::find_if(again.begin(), again.end(),
                                    [&](const auto& t) { return t.name == tensors[i].name; });
    ASSERT_NE(found, again.end()) << tensors[i].name;
    EXPECT_TRUE(found->tensor.identical(tensors[i].tensor)) << tensors[i].name;
  }
  for (const SafetensorsEntry& entry : file.entries()) {
    EXPECT_EQ(entry.begin % size_of(entry.type.dtype), 0U) << entry.name;
  }
  EXPECT_EQ(file.metadata(), (Metadata{{"who", "toroid"}}));
}

TEST(Safetensors, NoTensorsAreAValidFile) {
  const TemporaryFolder folder;
  write_safetensors(folder / "a", {});
  EXPECT_EQ(read_file(folder / "a"), length_of(8) + "{}      ");
  EXPECT_TRUE(SafetensorsFile(folder / "a").entries().empty());
}

TEST(Safetensors, ReadingOneTensorReadsOnlyIt) {
  const TemporaryFolder folder;
  write_safetensors(folder / "a", std::vector<NamedTensor>{{"a", Tensor::scalar(1.0F)},
                                                           {"b", Tensor::scalar(2.0F)}});
  const SafetensorsFile file(folder / "a");
  EXPECT_EQ(file.entries().at(1).name, "b");
  EXPECT_EQ(file.read(file.entries().at(1)).item(), 2.0);
}

TEST(Safetensors, NamesThatCannotBeWrittenAreRefusedAndLeaveNoFile) {
  const TemporaryFolder folder;
  const auto write = [&](const std::vector<std::string>& names) {
    std::vector<NamedTensor> tensors;
    for (const std::string& name : names) tensors.push_back({name, Tensor::scalar(1.0F)});
    write_safetensors(folder / "a", tensors);
  };
  EXPECT_ERROR(write({"w", "w"}), "/a: cannot write two tensors named \"w\"");
  EXPECT_ERROR(write({"__metadata__"}), "named \"__metadata__\"");
  EXPECT_ERROR(write({"\xff"}), "/a: cannot write: a tensor's name or the metadata is not UTF-8");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Safetensors, AHeaderLongerThanTheFileIsRefusedWithoutAllocatingIt) {
  EXPECT_COMPLAINT("", "not a safetensors file: 0 bytes long");
  EXPECT_COMPLAINT("1234567", "not a safetensors file: 7 bytes long");
  EXPECT_COMPLAINT(length_of(1ULL << 60) + "{}",
                   "says its header has 1152921504606846976 bytes, but 2 follow");
  EXPECT_COMPLAINT(length_of(~0ULL) + "{}", "says its header has 18446744073709551615 bytes");
}

TEST(Safetensors, AHeaderThatIsNotAJsonObjectIsRefused) {
  EXPECT_COMPLAINT(with_header("[1]", 0), "does not start with '{'");
  EXPECT_COMPLAINT(with_header("", 0), "does not start with '{'");
  EXPECT_COMPLAINT(with_header("{\"a\":", 0), "the header is not valid JSON");
  EXPECT_COMPLAINT(with_header("{\"\xff\":1}", 0), "the header is not valid JSON");
  EXPECT_COMPLAINT(with_header("{\"a\":" + std::string(100000, '[') + "}", 0), "nested too deeply");
  EXPECT_COMPLAINT(with_header(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                               R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                               0),
                   "\"a\" is twice in the header");
  EXPECT_COMPLAINT(with_header(R"({"__metadata__":{"k":1}})", 0),
                   "__metadata__: \"k\" is not a string");
  EXPECT_COMPLAINT(with_header(R"({"__metadata__":7})", 0), "__metadata__ is not an object");
}

TEST(Safetensors, AnEntryThatIsWrongIsNamedWithWhatIsWrong) {
  const auto entry = [](const std::string& body, std::size_t data_bytes) {
    return with_header("{\"w\":" + body + "}", data_bytes);
  };
  EXPECT_COMPLAINT(entry("7", 0), "tensor \"w\": its entry is not an object");
  EXPECT_COMPLAINT(entry(R"({"shape":[1],"data_offsets":[0,4]})", 4), "tensor \"w\": has no dtype");
  EXPECT_COMPLAINT(entry(R"({"dtype":"F16","shape":[1],"data_offsets":[0,2]})", 2),
                   "tensor \"w\": dtype \"F16\" is not supported");
  EXPECT_COMPLAINT(entry(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})", 4),
                   "tensor \"w\": shape has an entry that is not a whole number");
  EXPECT_COMPLAINT(entry(R"({"dtype":"F32","shape":[1.5],"data_offsets":[0,4]})", 4),
                   "not a whole number");
  EXPECT_COMPLAINT(entry(R"({"dtype":"F32","shape":3,"data_offsets":[0,4]})", 4),
                   "shape is not a list");
  EXPECT_COMPLAINT(entry(R"({"dtype":"F32","shape":[1],"data_offsets":[0]})", 4),
                   "data_offsets has 1 entries, not 2");
  EXPECT_COMPLAINT(entry(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})", 4),
                   "tensor \"w\": begins at byte 4 and ends before it, at 0");
  EXPECT_COMPLAINT(
      entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", 4),
      "tensor \"w\": ends at byte 8 of the data, of which the file has 4; is it cut short?");
  EXPECT_COMPLAINT(entry(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", 4),
                   "tensor \"w\": F32 of shape [2] takes 8 bytes, but its range has 4");
  EXPECT_COMPLAINT(
      entry(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})", 0),
      "tensor \"w\": shape [4294967296,4294967296] is too large");
  EXPECT_COMPLAINT(entry(R"({"dtype":"BOOL","shape":[1],"data_offsets":[0,1]})", 0) + "\2",
                   "tensor \"w\": BOOL element 0 is 2, neither 0 nor 1");
}

TEST(Safetensors, ANameWithALineBreakStillGivesAMessageOnOneLine) {
  EXPECT_COMPLAINT(with_header(R"({"a\nb":7})", 0), R"(tensor "a\nb": its entry)");
}

TEST(Safetensors, EveryByteOfTheDataBelongsToOneTensor) {
  const auto two = [](const char* a, const char* b) {
    return fmt::format(R"({{"a":{{"dtype":"U8","shape":[4],"data_offsets":{}}},)"
                       R"("b":{{"dtype":"U8","shape":[4],"data_offsets":{}}}}})",
                       a, b);
  };
  EXPECT_COMPLAINT(with_header(two("[0,4]", "[3,7]"), 7), "tensor \"b\": overlaps tensor \"a\"");
  EXPECT_COMPLAINT(with_header(two("[5,9]", "[0,4]"), 9),
                   "tensor \"a\": 1 bytes before it belong to no tensor");
  EXPECT_COMPLAINT(with_header(two("[0,4]", "[4,8]"), 10), "2 bytes after the last tensor");
  EXPECT_COMPLAINT(with_header("{}", 1), "1 bytes after the last tensor belong to none");
}

}  // namespace
}  // namespace toroid
