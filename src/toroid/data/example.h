// One labelled picture as a tf.Example, with the keys of TensorFlow's ImageNet shards
// (docs/formats/tfrecord.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace toroid {

/// A labelled picture, still encoded.
struct Example {
  std::string encoded;      ///< image/encoded: the picture's file, never empty
  std::int64_t label = 0;   ///< image/class/label: 0 .. classes-1
  std::string format;       ///< image/format: "jpeg" or "png"; "" = not stated
  std::string filename;     ///< image/filename: where it came from; "" = not stated
  std::int64_t height = 0;  ///< image/height in pixels; 0 = not stated
  std::int64_t width = 0;   ///< image/width in pixels; 0 = not stated

  friend bool operator==(const Example&, const Example&) = default;
};

/// Reads a serialized tf.Example. image/encoded and image/class/label must be there with exactly
/// one value; the other keys may be missing; unknown ones are ignored. Errors begin with `where`
/// (file and record) and name the key, the expected and the found kind.
Example parse_example(std::string_view payload, std::string_view where);

/// The tf.Example as bytes; the same value always gives the same bytes.
std::string serialize_example(const Example& example);

}  // namespace toroid
