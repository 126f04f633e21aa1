#include "toroid/base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace toroid {
namespace {

TEST(Utf8, TheLongestAndShortestOfEachFormAreWellFormed) {
  for (const char* text : {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xc3\xa9z"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  EXPECT_TRUE(is_utf8(std::string("a\0b", 3)));
}

TEST(Utf8, OverlongSurrogateTooLargeStrayAndCutFormsAreNot) {
  for (const char* text : {"\x80", "\xff", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
                           "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3",
                           "\xe1\x80", "\xf1\x80\x80", "caf\xe9", "\xc3\x28", "\xe1\x80\x28"}) {
    EXPECT_FALSE(is_utf8(text)) << text;
  }
}

TEST(Utf8, APrintableTextIsOneLineOfIt) {
  EXPECT_EQ(printable("caf\xc3\xa9: a\tb\r\nc\x7f"), "caf\xc3\xa9: a b  c ");
  EXPECT_EQ(printable("caf\xe9\xff!"), "caf\\xe9\\xff!");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a b");
}

}  // namespace
}  // namespace toroid
