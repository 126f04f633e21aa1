#include "toroid/base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "toroid/base/utf8.h"

namespace toroid::log {
namespace {

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = spdlog::stderr_logger_mt("toroid");
    made->set_pattern("%v");
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return *instance;
}

std::string& prefix() {
  static std::string instance;
  return instance;
}

}  // namespace

void write(Level level, const std::string& text) {
  const std::string message = printable(text);
  switch (level) {
    case Level::kInfo:
      logger().info("{}{}", prefix(), message);
      break;
    case Level::kWarning:
      logger().warn("{}warning: {}", prefix(), message);
      break;
    case Level::kError:
      logger().error("{}error: {}", prefix(), message);
      break;
  }
}

void set_prefix(const std::string& text) {
  prefix() = text;
}

void set_minimum(Level level) {
  logger().set_level(level == Level::kInfo      ? spdlog::level::info
                     : level == Level::kWarning ? spdlog::level::warn
                                                : spdlog::level::err);
}

}  // namespace toroid::log
