#include "toroid/data/dataset.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>

#include "toroid/base/error.h"
#include "toroid/base/file.h"

namespace toroid {

/// Shards stay open between reads, but not all of them: a data set of thousands of shards would run
/// into the limit of open files (often 1,024). The one opened longest ago is closed first.
class Dataset::OpenFiles {
 public:
  explicit OpenFiles(std::size_t shards) : files_(shards) {}

  std::shared_ptr<const TfRecordFile> get(std::size_t shard, const std::filesystem::path& path) {
    {
      const std::lock_guard lock(mutex_);
      if (files_[shard]) return files_[shard];
    }
    auto file = std::make_shared<const TfRecordFile>(path);  // slow on a network: without the lock
    const std::lock_guard lock(mutex_);
    if (files_[shard]) return files_[shard];
    if (order_.size() < kMostOpen) {
      order_.push_back(shard);
    } else {
      files_[order_[next_]].reset();
      order_[next_] = shard;
      next_ = (next_ + 1) % kMostOpen;
    }
    return files_[shard] = std::move(file);
  }

 private:
  static constexpr std::size_t kMostOpen = 256;
  std::mutex mutex_;
  std::vector<std::shared_ptr<const TfRecordFile>> files_;
  std::vector<std::size_t> order_;  ///< open shards; a ring once it is full
  std::size_t next_ = 0;            ///< the oldest of the ring
};

namespace {

/// What a dataset.json says of one shard, and which split lists it; null where it lists none.
struct Listed {
  const SplitInfo* split = nullptr;
  const ShardInfo* shard = nullptr;
};

Listed find_shard(const DatasetInfo& info, const std::string& file) {
  for (const SplitInfo& split : info.splits) {
    for (const ShardInfo& shard : split.shards) {
      if (shard.file == file) return {&split, &shard};
    }
  }
  return {};
}

void check_shard(const std::filesystem::path& path, const std::filesystem::path& info_path,
                 const ShardInfo& listed, std::size_t records, std::uint64_t bytes) {
  if (static_cast<std::int64_t>(records) != listed.examples || bytes != listed.bytes) {
    fail(
        "{}: holds {} records in {} bytes, but {} says {} in {}; one of the two was replaced or "
        "cut off: copy the data set again",
        path.string(), records, bytes, info_path.string(), listed.examples, listed.bytes);
  }
}

void check_none_is_gone(const SplitInfo& split, const std::filesystem::path& info_path) {
  for (const ShardInfo& shard : split.shards) {
    const auto path = info_path.parent_path() / shard.file;
    if (!std::filesystem::exists(path)) {
      fail("{}: is missing, though {} lists it; copy the data set again", path.string(),
           info_path.string());
    }
  }
}

}  // namespace

Dataset::Dataset() = default;
Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;
Dataset::~Dataset() = default;

Dataset Dataset::open(const std::string& pattern) {
  Dataset dataset;
  dataset.pattern_ = pattern;
  dataset.paths_ = glob(pattern);
  dataset.files_ = std::make_unique<OpenFiles>(dataset.paths_.size());
  std::uint64_t total = 0;
  for (const auto& path : dataset.paths_) {
    const TfRecordFile file(path);
    dataset.first_.push_back(static_cast<std::uint32_t>(total));
    dataset.records_.push_back(file.scan());
    dataset.bytes_.push_back(file.bytes());
    total += dataset.records_.back().size();
    // The largest u32 marks padding.
    if (total >= std::numeric_limits<std::uint32_t>::max()) {
      fail("{}: more than {} examples; use fewer shards", pattern,
           std::numeric_limits<std::uint32_t>::max() - 1);
    }
  }
  if (total == 0) fail("{}: the shards hold no record", pattern);
  dataset.first_.push_back(static_cast<std::uint32_t>(total));
  dataset.adopt_info();
  return dataset;
}

std::uint64_t Dataset::fingerprint() const {
  std::string text;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    text +=
        fmt::format("{}\n{} {}\n", paths_[i].filename().string(), bytes_[i], records_[i].size());
  }
  return std::hash<std::string>{}(text);
}

void Dataset::adopt_info() {
  std::map<std::filesystem::path, DatasetInfo> infos;  // by folder
  std::filesystem::path adopted;
  std::vector<const SplitInfo*> checked;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const auto info_path = paths_[i].parent_path() / kDatasetInfoFile;
    auto found = infos.find(info_path);
    if (found == infos.end()) {
      if (!std::filesystem::exists(info_path)) continue;
      found = infos.emplace(info_path, read_dataset_info(info_path)).first;
      if (adopted.empty()) {
        info_ = found->second;
        adopted = info_path;
      } else if (info_.classes != found->second.classes) {
        fail("{} and {} name different classes; one pattern cannot match both", adopted.string(),
             info_path.string());
      } else {
        info_.channels = std::max(info_.channels, found->second.channels);
        if (info_.height != found->second.height || info_.width != found->second.width) {
          info_.height = info_.width = 0;
        }
      }
    }
    const Listed listed = find_shard(found->second, paths_[i].filename().string());
    if (listed.shard == nullptr) {
      fail("{}: {} does not list it; move it to a folder of its own", paths_[i].string(),
           info_path.string());
    }
    check_shard(paths_[i], info_path, *listed.shard, records_[i].size(), bytes_[i]);
    if (std::find(checked.begin(), checked.end(), listed.split) == checked.end()) {
      check_none_is_gone(*listed.split, info_path);
      checked.push_back(listed.split);
    }
  }
}

Dataset::Location Dataset::locate(std::uint32_t id) const {
  if (id >= size()) fail("{}: there is no example {}, only {}", pattern_, id, size());
  const auto next = std::upper_bound(first_.begin(), first_.end(), id);
  const auto shard = static_cast<std::size_t>(next - first_.begin()) - 1;
  return {shard, static_cast<std::int64_t>(id - first_[shard])};
}

std::string Dataset::describe(std::uint32_t id) const {
  const Location at = locate(id);
  return describe_record(paths_[at.shard], at.index,
                         records_[at.shard][static_cast<std::size_t>(at.index)].offset);
}

Example Dataset::read(std::uint32_t id) const {
  const Location at = locate(id);
  const auto file = files_->get(at.shard, paths_[at.shard]);
  const RecordSpan& span = records_[at.shard][static_cast<std::size_t>(at.index)];
  return parse_example(file->read(span, at.index),
                       describe_record(file->path(), at.index, span.offset));
}

}  // namespace toroid
