#include "toroid/data/prepare/csv.h"

#include "toroid/base/file.h"
#include "toroid/base/testing.h"

namespace toroid {
namespace {

class CsvTest : public testing::Test {
 protected:
  CsvTable read(const std::string& text) const {
    write_file(folder_ / "t.csv", text);
    return CsvTable(folder_ / "t.csv");
  }
  /// The rows as "line:field|field".
  std::vector<std::string> rows(const std::string& text) const {
    std::vector<std::string> result;
    const CsvTable table = read(text);
    for (const CsvRow& row : table.rows()) {
      std::string one = std::to_string(row.line) + ":";
      for (const std::string& field : row.fields) one += field + "|";
      result.push_back(one);
    }
    return result;
  }
  const TemporaryFolder folder_;
};

using Rows = std::vector<std::string>;

TEST_F(CsvTest, LineEndsAndALastLineWithoutOneAreAllRead) {
  EXPECT_EQ(rows("a,b\n1,2\n3,4\n"), (Rows{"2:1|2|", "3:3|4|"}));
  EXPECT_EQ(rows("a,b\r\n1,2\r\n\r\n3,"), (Rows{"2:1|2|", "4:3||"}));
  EXPECT_EQ(rows("\xef\xbb\xbf"
                 "a,b\n1,"),
            (Rows{"2:1||"}));
}

TEST_F(CsvTest, QuotesHoldCommasLineEndsAndQuotes) {
  EXPECT_EQ(rows("a,b\n\"x, y\",\"say \"\"hi\"\"\"\n\"two\nlines\",\"\"\nlast,one\n"),
            (Rows{"2:x, y|say \"hi\"|", "3:two\nlines||", "5:last|one|"}));
}

TEST_F(CsvTest, ColumnsAreFoundByName) {
  const CsvTable table = read("image,level,image2\n");
  EXPECT_EQ(table.column("level"), 1U);
  EXPECT_ERROR(table.column("label"),
               "has no column \"label\"; its columns are: image, level, image2");
  EXPECT_ERROR(read("a,a\n").column("a"), "has more than one column \"a\"");
}

TEST_F(CsvTest, ErrorsNameTheLine) {
  EXPECT_ERROR(read("a,b\n1,2\n1,2,3\n"),
               "t.csv: line 3: has 3 fields, but the header has 2 columns");
  EXPECT_ERROR(read("a,b\n1,\"x\n"), "t.csv: line 2: a quoted field does not end");
  EXPECT_ERROR(read("a,b\n\"x\"y,1\n"), "t.csv: line 2: text follows a closing quote");
  EXPECT_ERROR(read(""), "t.csv: is empty");
}

}  // namespace
}  // namespace toroid
