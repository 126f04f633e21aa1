// For tests that need the CPU plugin.
#pragma once

#include <filesystem>

#include "toroid/base/testing.h"

#define SKIP_WITHOUT_PLUGIN()                                                               \
  if (!std::filesystem::exists(std::filesystem::path(TOROID_PJRT_DIR) / "xla_cpu_pjrt.so")) \
  GTEST_SKIP() << "no CPU plugin: run tools/fetch_pjrt.sh"
