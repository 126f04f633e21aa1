#include "toroid/backends/xla/pjrt_api.h"

#include <pjrt_c_api.h>

#include <string>

#include "toroid/base/testing.h"

namespace toroid {
namespace {

PJRT_Api table_of(int major, int minor, std::size_t bytes = PJRT_Api_STRUCT_SIZE) {
  PJRT_Api table = {};
  table.struct_size = bytes;
  table.pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
  table.pjrt_api_version.major_version = major;
  table.pjrt_api_version.minor_version = minor;
  return table;
}

TEST(PjrtApi, AnOlderPluginIsRefusedWithBothVersions) {
  EXPECT_ERROR(check_api(table_of(0, 56), "old.so"),
               "the plugin old.so speaks PJRT API 0.56, Toroid needs 0.57 or a later 0.x: use a "
               "newer plugin");
  EXPECT_ERROR(check_api(table_of(1, 0), "next.so"),
               "the plugin next.so speaks PJRT API 1.0, Toroid needs 0.57 or a later 0.x: use an "
               "older plugin");
}

TEST(PjrtApi, AShortFunctionTableIsRefused) {
  EXPECT_ERROR(check_api(table_of(0, 60, 400), "short.so"),
               "the plugin short.so (PJRT API 0.60) has a function table of 400 bytes");
}

TEST(PjrtApi, NewerMinorVersionsWithLongerTablesAreTaken) {
  check_api(table_of(0, 57), "plugin.so");
  check_api(table_of(0, 115, PJRT_Api_STRUCT_SIZE + 160), "plugin.so");
}

TEST(PjrtApi, MessagesBecomeOneLineOfBoundedLength) {
  EXPECT_EQ(one_line("\nerror: a\n\t note:  b\r\n"), "error: a note: b");
  EXPECT_EQ(one_line(std::string(5000, 'x')), std::string(2000, 'x') + " ...");
  EXPECT_EQ(one_line(""), "");
}

}  // namespace
}  // namespace toroid
