#include <set>

#include "toroid/base/file.h"
#include "toroid/data/prepare/prepare.h"
#include "toroid/data/testing.h"

namespace toroid {
namespace {

namespace fs = std::filesystem;

const fs::path kShared = fs::path(TOROID_SOURCE_DIR) / "../shared/data";

class PrepareCsvTest : public testing::Test {
 protected:
  fs::path out() const { return folder_ / "out"; }

  void picture(const std::string& name) const {
    fs::create_directories((folder_ / name).parent_path());
    write_file(folder_ / name, numbered_png(static_cast<int>(name.size()), 6, 6, 1));
  }
  PrepareCsvOptions csv_options(const std::string& table) const {
    write_file(folder_ / "t.csv", table);
    PrepareCsvOptions options;
    options.table = folder_ / "t.csv";
    options.images = folder_ / "pictures";
    options.out = out();
    return options;
  }

  const TemporaryFolder folder_;
};

TEST_F(PrepareCsvTest, ATableWithNumbersKeepsThemAndFindsEndings) {
  picture("pictures/1_left.jpeg");
  picture("pictures/1_right.png");
  picture("pictures/sub/x.png");
  PrepareCsvOptions options =
      csv_options("id,image,level\n1,1_left,2\n2,1_right.png,0\n3,\"sub/x\",2\n");
  options.label_column = "level";
  const DatasetInfo info = prepare_csv(options);
  EXPECT_EQ(info.classes, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(info.splits[0].examples_per_class, (std::vector<std::int64_t>{1, 0, 2}));
  EXPECT_EQ(read_split(out(), "train").at("1_left").format, "png");
}

TEST_F(PrepareCsvTest, ATableWithNamesSortsThem) {
  for (const char* name : {"1", "2", "3"}) picture(std::string("pictures/") + name + ".png");
  const DatasetInfo info = prepare_csv(csv_options("image,label\n1,pear\n2,10\n3,apple\n"));
  EXPECT_EQ(info.classes, (std::vector<std::string>{"10", "apple", "pear"}));
}

TEST_F(PrepareCsvTest, NoGroupIsInTwoSplits) {
  std::string table = "image,label,patient\n";
  for (int i = 0; i < 30; ++i) {
    picture(fmt::format("pictures/{}.png", i));
    table += fmt::format("{},{},p{}\n", i, i % 2, i / 3);
  }
  PrepareCsvOptions options = csv_options(table);
  options.group_column = "patient";
  options.validation = 0.3;
  prepare_csv(options);
  std::set<int> groups;
  const auto validation = read_split(out(), "validation");
  EXPECT_EQ(validation.size(), 9U);
  for (const auto& [name, example] : validation) groups.insert(std::stoi(name) / 3);
  EXPECT_EQ(groups.size(), 3U);
  for (const auto& [name, example] : read_split(out(), "train")) {
    EXPECT_FALSE(groups.contains(std::stoi(name) / 3));
  }
}

TEST_F(PrepareCsvTest, ASplitColumnDecidesAndIsCheckedAgainstGroups) {
  for (const char* name : {"1", "2", "3"}) picture(std::string("pictures/") + name + ".png");
  PrepareCsvOptions options =
      csv_options("image,label,split,patient\n1,0,train,a\n2,1,test,b\n3,1,val,a\n");
  options.split_column = "split";
  const DatasetInfo info = prepare_csv(options);
  ASSERT_EQ(info.splits.size(), 3U);
  EXPECT_EQ(info.splits[2].name, "test");
  options.out = folder_ / "other";
  options.group_column = "patient";
  EXPECT_ERROR(prepare_csv(options),
               "group \"a\" is in train at line 2 and in validation at line 4; it must be in one");
}

TEST_F(PrepareCsvTest, BadRowsAreNamedByLine) {
  picture("pictures/1.png");
  picture("pictures/2.png");
  picture("pictures/2.jpg");
  const auto message = [&](const std::string& table) {
    return error_of([&] { prepare_csv(csv_options(table)); });
  };
  EXPECT_NE(message("image,label\n1,0\n9,0\n").find("t.csv: line 3: there is no picture "),
            std::string::npos);
  EXPECT_NE(message("image,label\n1,0\n2,0\n").find("t.csv: line 3: \"2\" could be "),
            std::string::npos);
  EXPECT_NE(message("image,label\n1,\n").find("t.csv: line 2: the label is empty"),
            std::string::npos);
  EXPECT_NE(message("image,label\n1,-1\n").find("t.csv: line 2: label -1 is not in 0..65535"),
            std::string::npos);
  EXPECT_NE(message("image,label\n").find("t.csv: has no rows"), std::string::npos);
  EXPECT_NE(message("image,level\n1,0\n").find("has no column \"label\""), std::string::npos);
  PrepareCsvOptions options = csv_options("image,label,split\n1,0,dev\n");
  options.split_column = "split";
  EXPECT_ERROR(prepare_csv(options), "t.csv: line 2: split \"dev\" is unknown");
  options.validation = 0.1;
  EXPECT_ERROR(prepare_csv(options), "from column \"split\" or from a fraction, not from both");
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(PrepareCsvTest, FundusPhotographsArePreparedFromTheirTable) {
  if (!fs::exists(kShared / "fundus-originals")) GTEST_SKIP() << "no folder " << kShared;
  PrepareCsvOptions options;
  options.table = kShared / "fundus-originals/labels.csv";
  options.images = kShared / "fundus-originals/images";
  options.label_column = "level";
  options.out = out();
  options.size = 64;
  const DatasetInfo info = prepare_csv(options);
  EXPECT_EQ(info.splits[0].examples, 10);
  EXPECT_EQ(info.channels, 3);
  EXPECT_EQ(info.width, 64);
}

}  // namespace
}  // namespace toroid
