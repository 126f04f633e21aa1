#include "toroid/backends/xla/compile_options.h"

#include <string>
#include <vector>

#include "toroid/base/testing.h"

namespace toroid {
namespace {

std::string bytes(std::initializer_list<int> values) {
  return std::string(values.begin(), values.end());
}

// Field numbers and wire types as in XLA's compile_options.proto; -1 is ten bytes.
const std::string kOrdinalUnset =
    bytes({0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01});

TEST(CompileOptions, WithoutDeviceIdsTheCompilerChooses) {
  EXPECT_EQ(serialized_compile_options(8192, 1, {}),
            bytes({0x1a, 16}) + kOrdinalUnset + bytes({0x20, 0x80, 0x40, 0x28, 1}));
}

TEST(CompileOptions, TheDeviceAssignmentIsOneListOfReplicasPerPartition) {
  const std::vector<int> ids = {10, 11, 12, 13, 14, 15};  // 3 replicas x 2 partitions
  EXPECT_EQ(serialized_compile_options(3, 2, ids),
            bytes({0x1a, 37}) + kOrdinalUnset + bytes({0x20, 3, 0x28, 2, 0x30, 1}) +
                bytes({0x4a, 18, 0x08, 3, 0x10, 2}) +
                bytes({0x1a, 5, 0x0a, 3, 10, 12, 14, 0x1a, 5, 0x0a, 3, 11, 13, 15}));
}

TEST(CompileOptions, NumbersThatDoNotFitAreRefused) {
  const std::vector<int> ids = {0, 1, 2};
  EXPECT_ERROR(serialized_compile_options(2, 1, ids),
               "2 replicas x 1 partitions need 2 device ids, not 3");
  EXPECT_ERROR(serialized_compile_options(0, 1, {}),
               "a program needs at least 1 replica and 1 partition, not 0 and 1");
}

}  // namespace
}  // namespace toroid
