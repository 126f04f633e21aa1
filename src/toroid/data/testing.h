// Small data sets for tests.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "toroid/base/testing.h"
#include "toroid/data/dataset.h"
#include "toroid/data/example.h"
#include "toroid/data/image.h"
#include "toroid/data/tfrecord.h"

namespace toroid {

/// A PNG picture whose pixels count up from `first`, so that each example's is its own.
inline std::string numbered_png(int first, int height, int width, int channels) {
  Image image(height, width, channels);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<std::uint8_t>(static_cast<std::size_t>(first) + i);
  }
  return encode_png(image);
}

/// Without the fsync of TfRecordWriter, which is slow for hundreds of tiny files.
inline void write_shard(const std::filesystem::path& path, const std::vector<Example>& examples) {
  std::string bytes;
  for (const Example& example : examples) append_tfrecord(bytes, serialize_example(example));
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Shards a-0.tfrecord, a-1.tfrecord, ... with the given numbers of grey examples of size x size;
/// example i has label i % classes and the picture numbered_png(i).
inline void write_numbered_shards(const std::filesystem::path& folder,
                                  const std::vector<int>& counts, int classes, int size = 4) {
  int id = 0;
  for (std::size_t shard = 0; shard < counts.size(); ++shard) {
    std::vector<Example> examples;
    for (int i = 0; i < counts[shard]; ++i, ++id) {
      examples.push_back({.encoded = numbered_png(id, size, size, 1), .label = id % classes});
    }
    write_shard(folder / fmt::format("a-{}.tfrecord", shard), examples);
  }
}

/// The examples of a prepared data set's split by image/filename, each of which must be there once.
inline std::map<std::string, Example> read_split(const std::filesystem::path& folder,
                                                 const std::string& split) {
  const Dataset dataset = Dataset::open((folder / (split + "-*.tfrecord")).string());
  std::map<std::string, Example> examples;
  for (std::uint32_t id = 0; id < dataset.size(); ++id) {
    Example example = dataset.read(id);
    examples[example.filename] = example;
  }
  EXPECT_EQ(examples.size(), dataset.size());
  return examples;
}

}  // namespace toroid
