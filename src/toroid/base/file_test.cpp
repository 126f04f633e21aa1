#include "toroid/base/file.h"

#include <gtest/gtest.h>

#include "toroid/base/error.h"
#include "toroid/base/testing.h"

namespace toroid {
namespace {

namespace fs = std::filesystem;

TEST(File, WrittenContentReadsBackAndNoTemporaryRemains) {
  const TemporaryFolder folder;
  write_file(folder / "a.txt", "first");
  write_file(folder / "a.txt", std::string_view("sec\0nd", 6));
  EXPECT_EQ(read_file(folder / "a.txt"), std::string("sec\0nd", 6));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(File, AnUncommittedOutputLeavesNothingBehind) {
  const TemporaryFolder folder;
  {
    OutputFile file(folder / "b");
    file.write("half");
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(File, WhatKilledWritersLeftIsRemovedAndNothingElse) {
  const TemporaryFolder folder;
  for (const char* name : {".a.tmp12", ".a.tmp", ".a.tmp12x", ".ab.tmp12", "a"}) {
    write_file(folder / name, "");
  }
  remove_abandoned(folder / "a");
  EXPECT_FALSE(fs::exists(folder / ".a.tmp12"));
  for (const char* name : {".a.tmp", ".a.tmp12x", ".ab.tmp12", "a"}) {
    EXPECT_TRUE(fs::exists(folder / name)) << name;
  }
}

TEST(File, ReadingPastTheEndNamesPathAndOffset) {
  const TemporaryFolder folder;
  write_file(folder / "c", "12345");
  const InputFile file(folder / "c");
  std::array<std::byte, 4> out{};
  EXPECT_ERROR(file.read_at(3, out), "/c: ends at byte 5, but 4 bytes were expected at offset 3");
}

TEST(File, MissingFilesAndFoldersAreNamed) {
  const TemporaryFolder folder;
  EXPECT_ERROR(read_file(folder / "none"), "/none: cannot open: No such file");
  EXPECT_ERROR(read_file(folder.path()), "cannot read: Is a directory");
  EXPECT_ERROR(write_file(folder / "no" / "x", ""), "/no/x: cannot create: No such file");
}

TEST(File, GlobIsSortedAndAnEmptyMatchIsAnError) {
  const TemporaryFolder folder;
  for (const char* name : {"b-1", "a-2", "a-1"}) write_file(folder / name, "");
  const auto found = glob((folder / "a-*").string());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].filename(), "a-1");
  EXPECT_ERROR(glob((folder / "z*").string()), "/z*: no file matches");
}

}  // namespace
}  // namespace toroid
