// A set of labelled pictures in TFRecord shards, open for random access.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "toroid/data/dataset_info.h"
#include "toroid/data/example.h"
#include "toroid/data/tfrecord.h"

namespace toroid {

/// The records of all shards that match a pattern. An example's id is its place in the sequence of
/// all records, shards sorted by name, so it does not change while the files stay.
///
/// A dataset.json beside the shards gives the classes and the channels; it is checked against what
/// the shards hold. Without one, the number of classes is unknown (0) and channels are 3.
class Dataset {
 public:
  /// Finds the shards and indexes their records from the headers alone. Errors: no file matches, no
  /// record in any, a damaged or cut-off shard, a shard that dataset.json lists and that is gone,
  /// or holds another number of records.
  static Dataset open(const std::string& pattern);

  Dataset(Dataset&&) noexcept;
  Dataset& operator=(Dataset&&) noexcept;
  ~Dataset();

  const std::string& pattern() const { return pattern_; }
  /// Number of examples, 1 .. 2^32-2.
  std::uint32_t size() const { return first_.back(); }
  /// Names of the classes; empty when there is no dataset.json.
  const std::vector<std::string>& class_names() const { return info_.classes; }
  /// 0 = unknown.
  std::int64_t classes() const { return static_cast<std::int64_t>(info_.classes.size()); }
  int channels() const { return info_.channels; }
  /// Of every picture, in pixels; 0 when they differ or there is no dataset.json.
  int height() const { return info_.height; }
  int width() const { return info_.width; }
  const std::vector<std::filesystem::path>& shards() const { return paths_; }

  /// A hash of the shards' names, sizes and numbers of records: equal on all ranks that see the
  /// same files.
  std::uint64_t fingerprint() const;

  /// The example with this id; safe from several threads at once. Errors name file and record.
  Example read(std::uint32_t id) const;
  /// "train-00000-of-00012.tfrecord: record 7 at byte 1234", for errors about an example.
  std::string describe(std::uint32_t id) const;

 private:
  class OpenFiles;
  struct Location {
    std::size_t shard;
    std::int64_t index;  ///< of the record in its shard
  };

  Dataset();
  Location locate(std::uint32_t id) const;
  void adopt_info();

  std::string pattern_;
  DatasetInfo info_;
  std::vector<std::filesystem::path> paths_;
  std::vector<std::vector<RecordSpan>> records_;  ///< per shard
  std::vector<std::uint64_t> bytes_;              ///< per shard
  std::vector<std::uint32_t> first_;              ///< id of each shard's first record; then the end
  std::unique_ptr<OpenFiles> files_;
};

}  // namespace toroid
