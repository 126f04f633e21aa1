#include "toroid/data/prepare/prepare.h"

#include <map>

#include "toroid/base/crc32c.h"
#include "toroid/base/file.h"
#include "toroid/data/prepare/collection.h"
#include "toroid/data/testing.h"

namespace toroid {
namespace {

namespace fs = std::filesystem;

/// All files of a folder with their bytes.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    files[entry.path().filename().string()] = read_file(entry.path());
  }
  return files;
}

class PrepareTest : public testing::Test {
 protected:
  fs::path out() const { return folder_ / "out"; }

  void picture(const std::string& name, int size = 6, int channels = 1) const {
    fs::create_directories((folder_ / name).parent_path());
    write_file(folder_ / name, numbered_png(static_cast<int>(name.size()), size, size, channels));
  }
  /// src/<class>/<i>.png for three classes of 8, 5 and 2 pictures.
  PrepareFolderOptions folder_options() const {
    for (const auto& [name, count] : {std::pair{"cat", 8}, {"ant", 5}, {"bee", 2}}) {
      for (int i = 0; i < count; ++i) picture(fmt::format("src/{}/{}.png", name, i));
    }
    PrepareFolderOptions options;
    options.source = folder_ / "src";
    options.out = out();
    options.jobs = 2;
    return options;
  }
  void expect_nothing_left() const { EXPECT_FALSE(fs::exists(out())); }

  const TemporaryFolder folder_;
};

TEST_F(PrepareTest, ClassNamesAreUtf8AndTellClassesApart) {
  for (const auto& [name, says] : {std::pair{"caf\xe9", "is not UTF-8"},
                                   {"", "has no name"},
                                   {"ant", "two classes are called \"ant\""}}) {
    Collection collection;
    collection.classes = {"ant", name};
    PrepareOptions options;
    options.out = out();
    EXPECT_ERROR(write_collection(collection, options), says);
    expect_nothing_left();
  }
}

TEST_F(PrepareTest, AFolderBecomesShardsOfSortedClasses) {
  PrepareFolderOptions options = folder_options();
  options.shard_size = 4;
  const DatasetInfo info = prepare_folder(options);
  EXPECT_EQ(info.classes, (std::vector<std::string>{"ant", "bee", "cat"}));
  ASSERT_EQ(info.splits.size(), 1U);
  EXPECT_EQ(info.splits[0].examples_per_class, (std::vector<std::int64_t>{5, 2, 8}));
  EXPECT_EQ(info.channels, 1);
  EXPECT_EQ(info.height, 6);
  EXPECT_EQ(read_dataset_info(out() / "dataset.json"), info);
  EXPECT_EQ(summary_text(info), "train: 15 examples of 3 classes in 4 shards, 0.0 MB\n");

  const auto files = contents(out());
  EXPECT_EQ(files.size(), 5U);
  for (const ShardInfo& shard : info.splits[0].shards) {
    EXPECT_EQ(crc32c(files.at(shard.file)), shard.crc32c);
    EXPECT_EQ(files.at(shard.file).size(), shard.bytes);
  }
  EXPECT_TRUE(files.contains("train-00003-of-00004.tfrecord"));
  const auto examples = read_split(out(), "train");
  EXPECT_EQ(examples.at("cat/7.png").label, 2);
  EXPECT_EQ(examples.at("cat/7.png").encoded, read_file(folder_ / "src/cat/7.png"));
  EXPECT_EQ(examples.at("cat/7.png").format, "png");
  EXPECT_EQ(examples.at("cat/7.png").height, 6);
}

TEST_F(PrepareTest, BytesDependOnTheSeedAndNotOnTheJobs) {
  PrepareFolderOptions options = folder_options();
  options.validation = 0.4;
  prepare_folder(options);
  const auto once = contents(out());
  options.out = folder_ / "again";
  options.jobs = 7;
  prepare_folder(options);
  EXPECT_EQ(contents(options.out), once);
  options.out = folder_ / "other";
  options.seed = 2;
  prepare_folder(options);
  EXPECT_NE(contents(options.out), once);
}

TEST_F(PrepareTest, AFractionBecomesValidationAndNoExampleIsInBoth) {
  PrepareFolderOptions options = folder_options();
  options.validation = 0.2;
  prepare_folder(options);
  auto examples = read_split(out(), "train");
  EXPECT_EQ(examples.size(), 12U);
  EXPECT_EQ(read_split(out(), "validation").size(), 3U);
  examples.merge(read_split(out(), "validation"));
  EXPECT_EQ(examples.size(), 15U);
}

TEST_F(PrepareTest, FoldersNamedAfterSplitsAreSplits) {
  for (const char* name : {"train/a/1.png", "train/b/1.png", "val/a/2.png", ".hidden/x"}) {
    picture(std::string("src/") + name);
  }
  PrepareFolderOptions options;
  options.source = folder_ / "src";
  options.out = out();
  const DatasetInfo info = prepare_folder(options);
  EXPECT_EQ(info.classes, (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(info.splits.size(), 2U);
  EXPECT_EQ(info.splits[1].examples_per_class, (std::vector<std::int64_t>{1, 0}));
  options.out = folder_ / "other";
  options.validation = 0.5;
  EXPECT_ERROR(prepare_folder(options), "has validation pictures already");
}

TEST_F(PrepareTest, ASizeEncodesAgainOnlyWhatDiffers) {
  PrepareFolderOptions options = folder_options();
  picture("src/ant/large.png", 40, 3);
  write_file(folder_ / "src/ant/photo.JPG", encode_jpeg(Image(30, 20, 3), 95));
  options.size = 6;
  const DatasetInfo info = prepare_folder(options);
  EXPECT_EQ(info.height, 6);
  EXPECT_EQ(info.channels, 3);
  const auto examples = read_split(out(), "train");
  EXPECT_EQ(examples.at("ant/0.png").encoded, read_file(folder_ / "src/ant/0.png"));
  EXPECT_EQ(decode_image(examples.at("ant/large.png").encoded, 0, "x").width, 6);
  EXPECT_EQ(examples.at("ant/photo.JPG").format, "jpeg");
  EXPECT_EQ(decode_image(examples.at("ant/photo.JPG").encoded, 0, "x").height, 6);
}

TEST_F(PrepareTest, HiddenFilesArePassedOverAndOtherFilesNamed) {
  PrepareFolderOptions options = folder_options();
  write_file(folder_ / "src/cat/.DS_Store", "x");
  prepare_folder(options);
  options.out = folder_ / "other";
  write_file(folder_ / "src/cat/notes.JPEG", "cats");
  EXPECT_ERROR(prepare_folder(options), "src/cat/notes.JPEG: is text, no JPEG or PNG picture");
  EXPECT_FALSE(fs::exists(options.out));
}

TEST_F(PrepareTest, AFolderThatIsNotEmptyIsLeftAlone) {
  PrepareFolderOptions options = folder_options();
  fs::create_directory(out());
  write_file(out() / "thesis.txt", "x");
  EXPECT_ERROR(prepare_folder(options), "out: is not empty (it holds thesis.txt)");
  EXPECT_EQ(contents(out()).size(), 1U);
  fs::remove(out() / "thesis.txt");
  fs::create_directory(out() / ".partial-77");
  EXPECT_ERROR(prepare_folder(options), "which a prepare that runs or was killed has made");
  fs::remove(out() / ".partial-77");
  prepare_folder(options);  // an empty one is taken
}

TEST_F(PrepareTest, UnusableFoldersAreNamed) {
  PrepareFolderOptions options = folder_options();
  fs::create_directory(folder_ / "src/dog");
  EXPECT_ERROR(prepare_folder(options), "src/dog: the class has no picture");
  fs::create_directory(folder_ / "src/dog/more");
  EXPECT_ERROR(prepare_folder(options), "src/dog/more: is a folder inside a class's folder");
  options.source = folder_ / "src/cat";
  EXPECT_ERROR(prepare_folder(options), "src/cat: has no subfolders; expected one per class");
  options.source = folder_ / "nowhere";
  EXPECT_ERROR(prepare_folder(options), "nowhere: cannot list the folder: No such file");
  expect_nothing_left();
}

TEST_F(PrepareTest, CommonOptionsOutOfRangeAreRefused) {
  PrepareFolderOptions options = folder_options();
  options.validation = 1;
  EXPECT_ERROR(prepare_folder(options), "a validation fraction of 1 is not in 0 <= f < 1");
  options.validation = 0.99;
  EXPECT_ERROR(prepare_folder(options), "takes all 15 training examples");
  options.validation = 0;
  options.shard_size = 0;
  EXPECT_ERROR(prepare_folder(options), "shard size 0");
  expect_nothing_left();
}

TEST_F(PrepareTest, IdxPairsKeepPixelsAndSplits) {
  const std::string images(
      "\0\0\x08\x03\0\0\0\x03\0\0\0\x02\0\0\0\x02"
      "abcdefghijkl",
      28);
  const std::string labels("\0\0\x08\x01\0\0\0\x03\x01\x00\x02", 11);
  write_file(folder_ / "images", images);
  write_file(folder_ / "labels", labels);
  PrepareIdxOptions options;
  options.out = out();
  options.pairs = {{folder_ / "images", folder_ / "labels", "train"},
                   {folder_ / "images", folder_ / "labels", "test"}};
  const DatasetInfo info = prepare_idx(options);
  EXPECT_EQ(info.classes, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(info.channels, 1);
  const auto examples = read_split(out(), "test");
  ASSERT_EQ(examples.size(), 3U);
  const Example& second = examples.at("images:1");
  EXPECT_EQ(second.label, 0);
  const Image image = decode_image(second.encoded, 0, "x");
  EXPECT_EQ(std::string(image.pixels.begin(), image.pixels.end()), "efgh");

  options.out = folder_ / "other";
  options.class_names = {"shirt", "shoe"};
  EXPECT_ERROR(prepare_idx(options), "images: picture 2: label 2 has no name: only 2");
  options.pairs[0].split = "holdout";
  EXPECT_ERROR(prepare_idx(options), "split \"holdout\" is unknown");
  options.pairs = {{folder_ / "images", folder_ / "images", "train"}};
  EXPECT_ERROR(prepare_idx(options), "are pictures and labels swapped?");
  write_file(folder_ / "labels", std::string("\0\0\x08\x01\0\0\0\x01\x00", 9));
  options.pairs = {{folder_ / "images", folder_ / "labels", "train"}};
  EXPECT_ERROR(prepare_idx(options), "images: holds 3 pictures, but ");
}

TEST_F(PrepareTest, FashionMnistIsPrepared) {
  const fs::path source = "/usr/share/datasets/fashion-mnist";
  if (!fs::exists(source)) GTEST_SKIP() << "Debian's dataset-fashion-mnist is not installed";
  PrepareIdxOptions options;
  options.out = out();
  options.validation = 0.1;
  options.pairs = {
      {source / "t10k-images-idx3-ubyte.gz", source / "t10k-labels-idx1-ubyte.gz", "train"}};
  const DatasetInfo info = prepare_idx(options);
  EXPECT_EQ(info.classes.size(), 10U);
  EXPECT_EQ(info.height, 28);
  ASSERT_EQ(info.splits.size(), 2U);
  EXPECT_EQ(info.splits[0].examples, 9000);
  EXPECT_EQ(info.splits[1].examples, 1000);
  for (int c = 0; c < 10; ++c) {
    EXPECT_EQ(info.splits[0].examples_per_class[c] + info.splits[1].examples_per_class[c], 1000);
  }
}

}  // namespace
}  // namespace toroid
