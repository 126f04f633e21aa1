#include "toroid/data/prepare/collection.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <span>

#include "toroid/base/error.h"
#include "toroid/base/file.h"
#include "toroid/base/machine.h"
#include "toroid/base/parallel.h"
#include "toroid/base/random.h"
#include "toroid/base/utf8.h"
#include "toroid/data/example.h"
#include "toroid/data/image.h"
#include "toroid/data/resize.h"
#include "toroid/data/tfrecord.h"

namespace toroid {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPartial = ".partial-";  // and the process

/// The folder of a data set that is being written. Files are made in a hidden folder inside it and
/// moved out at the end; whatever goes wrong before that, nothing is left.
class OutputFolder {
 public:
  explicit OutputFolder(const fs::path& out)
      : out_(out),
        existed_(fs::exists(out)),
        partial_(out / fmt::format("{}{}", kPartial, ::getpid())) {
    std::error_code error;
    fs::create_directories(partial_, error);
    if (error) fail("{}: cannot create the folder: {}", out.string(), error.message());
  }
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;
  ~OutputFolder() {
    std::error_code ignored;
    fs::remove_all(partial_, ignored);
    if (complete_) return;
    for (const std::string& file : moved_) fs::remove(out_ / file, ignored);
    if (!existed_) fs::remove(out_, ignored);
  }

  const fs::path& partial() const { return partial_; }

  /// Gives the shards their names, then dataset.json, whose presence says that all is there.
  void publish(const DatasetInfo& info) {
    for (const SplitInfo& split : info.splits) {
      for (const ShardInfo& shard : split.shards) move_out(shard.file);
    }
    sync_directory(out_);
    write_file(partial_ / kDatasetInfoFile, dataset_info_text(info));
    move_out(kDatasetInfoFile);
    complete_ = true;
    sync_directory(out_);
  }

 private:
  void move_out(const std::string& file) {
    std::error_code error;
    fs::rename(partial_ / file, out_ / file, error);
    if (error) fail("{}: cannot rename to it: {}", (out_ / file).string(), error.message());
    moved_.push_back(file);
  }

  fs::path out_;
  bool existed_;
  fs::path partial_;
  std::vector<std::string> moved_;
  bool complete_ = false;
};

/// A picture ready to be written, and what dataset.json wants to know of it.
struct Finished {
  std::string record;
  int height = 0, width = 0, channels = 0;
};

Finished finish(const Item& item, std::string file, const PrepareOptions& options) {
  const ImageFormat format = image_format(file, item.where);
  Image image = decode_image(file, 0, item.where);
  if (options.size > 0 && (image.height != options.size || image.width != options.size)) {
    image = fit_to_square(image, options.size);
    file = format == ImageFormat::kJpeg ? encode_jpeg(image, options.quality) : encode_png(image);
  }
  const Example example{.encoded = std::move(file),
                        .label = item.label,
                        .format = std::string(name_of(format)),
                        .filename = item.name,
                        .height = image.height,
                        .width = image.width};
  return {serialize_example(example), image.height, image.width, image.channels};
}

/// Keeps in dataset.json's head what holds for every picture so far.
void note_picture(DatasetInfo& info, const Finished& picture, bool first) {
  if (first) {
    info.height = picture.height;
    info.width = picture.width;
    info.channels = picture.channels;
    return;
  }
  if (info.height != picture.height || info.width != picture.width) info.height = info.width = 0;
  info.channels = std::max(info.channels, picture.channels);
}

/// Classes are told apart by name in everything that people read, and the files are UTF-8.
void check_classes(const std::vector<std::string>& classes) {
  std::set<std::string> known;
  for (const std::string& name : classes) {
    if (name.empty()) fail("a class has no name; name it");
    if (!is_utf8(name)) fail("the class name \"{}\" is not UTF-8; rename it", name);
    if (!known.insert(name).second) fail("two classes are called \"{}\"; rename one", name);
  }
}

/// Writes the shards of one split.
class SplitWriter {
 public:
  SplitWriter(const Collection& collection, const PrepareOptions& options, const fs::path& folder,
              DatasetInfo& info)
      : collection_(collection),
        options_(options),
        folder_(folder),
        info_(info),
        threads_(options.jobs > 0 ? options.jobs : usable_threads()) {}

  void write(Split split) {
    std::vector<std::size_t> order = shuffled(split);
    if (order.empty()) return;
    SplitInfo result;
    result.name = name_of(split);
    result.examples = static_cast<std::int64_t>(order.size());
    result.examples_per_class.resize(collection_.classes.size());
    for (const std::size_t i : order) {
      ++result.examples_per_class[static_cast<std::size_t>(collection_.items[i].label)];
    }
    const auto limit = static_cast<std::size_t>(options_.shard_size);
    const std::size_t shards = (order.size() + limit - 1) / limit;
    for (std::size_t s = 0; s < shards; ++s) {
      const std::size_t begin = order.size() * s / shards;
      const std::size_t end = order.size() * (s + 1) / shards;
      result.shards.push_back(
          write_shard(fmt::format("{}-{:05}-of-{:05}.tfrecord", result.name, s, shards),
                      std::span(order).subspan(begin, end - begin)));
    }
    info_.splits.push_back(std::move(result));
  }

 private:
  std::vector<std::size_t> shuffled(Split split) const {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < collection_.items.size(); ++i) {
      if (collection_.items[i].split == split) members.push_back(i);
    }
    const auto order = permutation(static_cast<std::uint32_t>(members.size()), options_.seed,
                                   fmt::format("prepare/{}", name_of(split)));
    std::vector<std::size_t> result;
    result.reserve(members.size());
    for (const std::uint32_t place : order) result.push_back(members[place]);
    return result;
  }

  ShardInfo write_shard(const std::string& name, std::span<const std::size_t> order) {
    TfRecordWriter writer(folder_ / name);
    // A few pictures per thread at a time, so that memory stays bounded and the order stays.
    const std::size_t block = 32 * static_cast<std::size_t>(threads_);
    for (std::size_t begin = 0; begin < order.size(); begin += block) {
      std::vector<Finished> done(std::min(block, order.size() - begin));
      parallel_for(done.size(), threads_, [&](std::size_t i) {
        const std::size_t item = order[begin + i];
        done[i] = finish(collection_.items[item], collection_.load(item), options_);
      });
      for (const Finished& picture : done) {
        writer.write(picture.record);
        note_picture(info_, picture, written_++ == 0);
      }
    }
    ShardInfo shard{name, writer.records(), writer.bytes(), writer.checksum()};
    writer.commit();
    return shard;
  }

  const Collection& collection_;
  const PrepareOptions& options_;
  const fs::path& folder_;
  DatasetInfo& info_;
  int threads_;
  std::int64_t written_ = 0;
};

}  // namespace

void check_common_options(const PrepareOptions& o) {
  if (!(o.validation >= 0 && o.validation < 1)) {
    fail_usage("a validation fraction of {} is not in 0 <= f < 1", o.validation);
  }
  if (o.shard_size < 1) fail_usage("shard size {}: expected at least 1 record", o.shard_size);
  if (o.size < 0) fail_usage("picture size {}: expected a number of pixels", o.size);
  if (o.quality < 1 || o.quality > 100) fail_usage("quality {} is not in 1..100", o.quality);
  if (o.jobs < 0) fail_usage("{} jobs: expected 0 (automatic) or more", o.jobs);
  if (o.out.empty()) fail_usage("the output folder has no name");
  std::error_code ignored;
  const fs::file_status status = fs::status(o.out, ignored);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) fail("{}: is no folder; name another", o.out.string());
  for (const auto& entry : fs::directory_iterator(o.out)) {
    const std::string name = entry.path().filename().string();
    fail("{}: is not empty (it holds {}{}); empty it or name another folder", o.out.string(), name,
         name.starts_with(kPartial) ? ", which a prepare that runs or was killed has made" : "");
  }
}

DatasetInfo write_collection(const Collection& collection, const PrepareOptions& options) {
  check_classes(collection.classes);
  DatasetInfo info;
  info.classes = collection.classes;
  info.prepared_by = collection.prepared_by;
  OutputFolder folder(options.out);
  SplitWriter writer(collection, options, folder.partial(), info);
  for (int split = 0; split < kSplits; ++split) writer.write(static_cast<Split>(split));
  folder.publish(info);
  return info;
}

std::string summary_text(const DatasetInfo& info) {
  std::string text;
  for (const SplitInfo& split : info.splits) {
    std::uint64_t bytes = 0;
    for (const ShardInfo& shard : split.shards) bytes += shard.bytes;
    text += fmt::format("{}: {} examples of {} classes in {} shard{}, {:.1f} MB\n", split.name,
                        split.examples, info.classes.size(), split.shards.size(),
                        split.shards.size() == 1 ? "" : "s", static_cast<double>(bytes) / 1e6);
  }
  return text;
}

}  // namespace toroid
