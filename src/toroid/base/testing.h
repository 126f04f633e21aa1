// Helpers for the tests of every module; needs GoogleTest, so only *_test.cpp files include it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "toroid/base/error.h"

namespace toroid {

/// A fresh folder, removed with everything in it at the end of the scope.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "toroid-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) fail("cannot make a temporary folder");
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// The message of the Error that `f` throws; a test failure when it throws none.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

/// The statement throws Error, and the one-line message contains the text.
#define EXPECT_ERROR(statement, text)                                                         \
  do {                                                                                        \
    const std::string toroid_message = ::toroid::error_of([&] { (void)(statement); });        \
    EXPECT_NE(toroid_message.find(text), std::string::npos) << "message: " << toroid_message; \
    EXPECT_EQ(toroid_message.find('\n'), std::string::npos) << "message: " << toroid_message; \
  } while (false)

}  // namespace toroid
