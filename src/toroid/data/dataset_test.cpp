#include "toroid/data/dataset.h"

#include "toroid/base/file.h"
#include "toroid/data/testing.h"

namespace toroid {
namespace {

/// A dataset.json for the shards of write_numbered_shards(folder, {2, 3}, 2).
DatasetInfo info_of(const TemporaryFolder& folder) {
  DatasetInfo info;
  info.classes = {"even", "odd"};
  info.channels = 1;
  info.height = info.width = 4;
  info.prepared_by = "a test";
  SplitInfo split{"train", 5, {3, 2}, {}};
  for (const auto& [file, examples] : {std::pair{"a-0.tfrecord", 2}, {"a-1.tfrecord", 3}}) {
    split.shards.push_back({file, examples, std::filesystem::file_size(folder / file), 0x0123abcd});
  }
  info.splits = {split};
  return info;
}

class DatasetTest : public testing::Test {
 protected:
  DatasetTest() { write_numbered_shards(folder_.path(), {2, 3}, 2); }
  Dataset open() const { return Dataset::open((folder_ / "a-*.tfrecord").string()); }
  void write_info(const std::string& text) const { write_file(folder_ / "dataset.json", text); }

  const TemporaryFolder folder_;
};

TEST_F(DatasetTest, IdsRunThroughTheSortedShards) {
  const Dataset dataset = open();
  ASSERT_EQ(dataset.size(), 5U);
  for (std::uint32_t id = 0; id < 5; ++id) {
    const Example example = dataset.read(id);
    EXPECT_EQ(decode_image(example.encoded, 1, "x").pixels[0], id);
    EXPECT_EQ(example.label, id % 2);
  }
  EXPECT_NE(dataset.describe(3).find("a-1.tfrecord: record 1 at byte "), std::string::npos);
  EXPECT_ERROR(dataset.read(5), "there is no example 5, only 5");
}

TEST_F(DatasetTest, WithoutDatasetJsonTheClassesAreUnknown) {
  const Dataset dataset = open();
  EXPECT_EQ(dataset.classes(), 0);
  EXPECT_EQ(dataset.channels(), 3);
  EXPECT_EQ(dataset.height(), 0);
}

TEST_F(DatasetTest, DatasetJsonGivesClassesChannelsAndSize) {
  write_info(dataset_info_text(info_of(folder_)));
  const Dataset dataset = open();
  EXPECT_EQ(dataset.class_names(), (std::vector<std::string>{"even", "odd"}));
  EXPECT_EQ(dataset.channels(), 1);
  EXPECT_EQ(dataset.height(), 4);
}

TEST_F(DatasetTest, DatasetJsonComesBackAsWritten) {
  const DatasetInfo info = info_of(folder_);
  write_info(dataset_info_text(info));
  EXPECT_EQ(read_dataset_info(folder_ / "dataset.json"), info);
}

TEST_F(DatasetTest, AReplacedShardIsFoundByItsCount) {
  write_info(dataset_info_text(info_of(folder_)));
  write_numbered_shards(folder_.path(), {2, 2}, 2);
  EXPECT_ERROR(open(), "a-1.tfrecord: holds 2 records in ");
}

TEST_F(DatasetTest, AMissingShardIsNamed) {
  write_info(dataset_info_text(info_of(folder_)));
  std::filesystem::remove(folder_ / "a-1.tfrecord");
  EXPECT_ERROR(open(), "a-1.tfrecord: is missing, though ");
}

TEST_F(DatasetTest, AStrangeShardIsNamed) {
  write_info(dataset_info_text(info_of(folder_)));
  write_shard(folder_ / "a-9.tfrecord", {});
  EXPECT_ERROR(open(), "a-9.tfrecord: ");
  EXPECT_ERROR(open(), "does not list it");
}

TEST_F(DatasetTest, APartOfTheShardsMayBeOpened) {
  write_info(dataset_info_text(info_of(folder_)));
  EXPECT_EQ(Dataset::open((folder_ / "a-1.tfrecord").string()).size(), 3U);
}

TEST_F(DatasetTest, DamagedDatasetJsonNamesTheKey) {
  write_info("{\"format\": \"toroid-dataset\", ");
  EXPECT_ERROR(open(), "dataset.json: is no JSON (at byte ");
  write_info("[]");
  EXPECT_ERROR(open(), "dataset.json: \"\" should be an object, but is []");
  std::string text = dataset_info_text(info_of(folder_));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    write_info(changed);
  };
  with("\"channels\": 1", "\"channels\": 2");
  EXPECT_ERROR(open(), "\"channels\" should be 1 or 3, but is 2");
  with("\"classes\": [", "\"class_names\": [");
  EXPECT_ERROR(open(), "key \"classes\" is missing");
  with("\"examples\": 3", "\"examples\": 4");
  EXPECT_ERROR(open(), "\"splits.train.examples\" should be the sum over the shards, but is 5");
  with("\"examples\": 3", "\"examples\": \"3\"");
  EXPECT_ERROR(open(), "\"splits.train.shards[1].examples\" should be a count, but is \"3\"");
  with("\"version\": 1", "\"version\": 2");
  EXPECT_ERROR(open(), "is \"toroid-dataset\" version 2; this program reads");
}

TEST_F(DatasetTest, NothingToReadIsAnError) {
  EXPECT_ERROR(Dataset::open((folder_ / "b-*").string()), "b-*: no file matches");
  write_shard(folder_ / "b-0.tfrecord", {});
  EXPECT_ERROR(Dataset::open((folder_ / "b-*").string()), "the shards hold no record");
}

TEST_F(DatasetTest, MoreShardsThanOpenFilesAreRead) {
  const TemporaryFolder many;
  write_numbered_shards(many.path(), std::vector<int>(300, 1), 2, 1);
  const Dataset dataset = Dataset::open((many / "a-*.tfrecord").string());
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t id = 0; id < 300; ++id) EXPECT_FALSE(dataset.read(id).encoded.empty());
  }
}

}  // namespace
}  // namespace toroid
