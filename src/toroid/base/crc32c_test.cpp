#include "toroid/base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace toroid {
namespace {

TEST(Crc32c, GivesTheValuesOfRfc3720) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62A8AB43U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(Crc32c, GoesOnFromTheBytesBefore) {
  EXPECT_EQ(crc32c("6789", crc32c("12345")), crc32c("123456789"));
  EXPECT_EQ(crc32c("", 0xE3069283U), 0xE3069283U);
}

TEST(Crc32c, MaskRotatesAndAdds) {
  EXPECT_EQ(masked_crc32c("123456789"), ((0xE3069283U >> 15) | (0xE3069283U << 17)) + 0xa282ead8U);
}

}  // namespace
}  // namespace toroid
