// dataset.json: what lies beside a data set's shards (docs/formats/tfrecord.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace toroid {

inline constexpr const char* kDatasetInfoFile = "dataset.json";

struct ShardInfo {
  std::string file;           ///< name inside the folder of dataset.json
  std::int64_t examples = 0;  ///< records
  std::uint64_t bytes = 0;    ///< size of the file
  std::uint32_t crc32c = 0;   ///< of the whole file

  friend bool operator==(const ShardInfo&, const ShardInfo&) = default;
};

struct SplitInfo {
  std::string name;                              ///< train, validation or test
  std::int64_t examples = 0;                     ///< the sum over the shards
  std::vector<std::int64_t> examples_per_class;  ///< as many as there are classes
  std::vector<ShardInfo> shards;                 ///< sorted by file

  friend bool operator==(const SplitInfo&, const SplitInfo&) = default;
};

struct DatasetInfo {
  std::vector<std::string> classes;  ///< names; a label is an index here
  int channels = 3;                  ///< 1 when every picture is grey
  int height = 0;                    ///< of every picture, in pixels; 0 = they differ
  int width = 0;
  std::string prepared_by;        ///< the command, for people
  std::vector<SplitInfo> splits;  ///< in the order train, validation, test

  friend bool operator==(const DatasetInfo&, const DatasetInfo&) = default;
};

/// Reads a dataset.json. Errors name the file, the key, and what was expected there.
DatasetInfo read_dataset_info(const std::filesystem::path& path);

/// The text of dataset.json.
std::string dataset_info_text(const DatasetInfo& info);

}  // namespace toroid
