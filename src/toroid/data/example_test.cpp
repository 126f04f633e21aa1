#include "toroid/data/example.h"

#include "toroid/base/testing.h"
#include "toroid/data/example.pb.h"

namespace toroid {
namespace {

/// An example with encoded = "JPEG" and label = 3, to be damaged.
wire::Example valid() {
  wire::Example example;
  auto& features = *example.mutable_features()->mutable_feature();
  features["image/encoded"].mutable_bytes_list()->add_value("JPEG");
  features["image/class/label"].mutable_int64_list()->add_value(3);
  return example;
}

wire::Feature& feature(wire::Example& example, const std::string& key) {
  return (*example.mutable_features()->mutable_feature())[key];
}

Example parse(const wire::Example& example) {
  return parse_example(example.SerializeAsString(), "a.tfrecord: record 7 at byte 99");
}

/// What tf.train.Example serializes { "image/class/label": int64 [3], "image/encoded": bytes
/// ["JPEG"] } to.
const std::string kTensorFlow(
    "\x0a\x37"
    "\x0a\x1a\x0a\x11image/class/label\x12\x05\x1a\x03\x0a\x01\x03"
    "\x0a\x19\x0a\x0dimage/encoded\x12\x08\x0a\x06\x0a\x04JPEG");

TEST(Example, TheBytesAreThoseOfTensorFlow) {
  const Example example = parse_example(kTensorFlow, "x");
  EXPECT_EQ(example, (Example{.encoded = "JPEG", .label = 3}));
  EXPECT_EQ(serialize_example(example), kTensorFlow);
}

TEST(Example, UnpackedIntegersAreRead) {
  // The label as Int64List { value: 3 } without packing: field 1, varint.
  std::string bytes(
      "\x0a\x00"
      "\x0a\x19\x0a\x11image/class/label\x12\x04\x1a\x02\x08\x03"
      "\x0a\x19\x0a\x0dimage/encoded\x12\x08\x0a\x06\x0a\x04JPEG",
      2 + 2 + 25 + 2 + 25);
  bytes[1] = static_cast<char>(bytes.size() - 2);
  EXPECT_EQ(parse_example(bytes, "x").label, 3);
}

TEST(Example, RoundTripKeepsEveryKeyAndTheBytesAreStable) {
  const Example example{"\xff\xd8\xff", 4, "jpeg", "10_left.jpeg", 256, 300};
  const std::string bytes = serialize_example(example);
  EXPECT_EQ(parse_example(bytes, "x"), example);
  EXPECT_EQ(serialize_example(parse_example(bytes, "x")), bytes);
}

TEST(Example, UnknownKeysOfAnyKindAreIgnored) {
  wire::Example example = valid();
  feature(example, "image/object/bbox/xmin").mutable_float_list()->add_value(0.5F);
  feature(example, "image/class/text").mutable_bytes_list()->add_value("cat");
  EXPECT_EQ(parse(example).label, 3);
}

TEST(Example, AMissingKeyIsNamedWithTheRecord) {
  wire::Example example = valid();
  example.mutable_features()->mutable_feature()->erase("image/class/label");
  EXPECT_ERROR(parse(example),
               "a.tfrecord: record 7 at byte 99: the example has no \"image/class/label\"; "
               "expected one int64");
  EXPECT_ERROR(parse(wire::Example()), "has no \"image/encoded\"");
}

TEST(Example, AWrongKindIsNamedWithWhatWasFound) {
  wire::Example example = valid();
  feature(example, "image/class/label").mutable_float_list()->add_value(3);
  EXPECT_ERROR(parse(example), "\"image/class/label\" should hold one int64, but holds 1 float;");
  feature(example, "image/class/label").mutable_bytes_list()->add_value("cat");
  EXPECT_ERROR(parse(example), "holds 1 byte string;");
  feature(example, "image/class/label").clear_kind();
  EXPECT_ERROR(parse(example), "holds a feature without a value;");
}

TEST(Example, ALabelOfTwoElementsIsRefused) {
  wire::Example example = valid();
  feature(example, "image/class/label").mutable_int64_list()->add_value(4);
  EXPECT_ERROR(parse(example), "should hold one int64, but holds 2 int64 values");
}

TEST(Example, EmptyPictureBytesAreRefused) {
  wire::Example example = valid();
  feature(example, "image/encoded").mutable_bytes_list()->set_value(0, "");
  EXPECT_ERROR(parse(example), "\"image/encoded\" is empty");
}

TEST(Example, BytesThatAreNoExampleAreRefused) {
  EXPECT_ERROR(parse_example("<html>", "here"), "here: the payload of 6 bytes is no tf.Example");
}

}  // namespace
}  // namespace toroid
