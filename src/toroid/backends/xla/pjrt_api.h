// A loaded PJRT plugin: its table of functions, checked, and its errors as toroid::Error.
// For the client's own .cpp files, which include pjrt_c_api.h beside this.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

struct PJRT_Api;
struct PJRT_Error;
struct PJRT_Event;

namespace toroid {

class PjrtApi {
 public:
  /// Loads and initializes the plugin, or returns the one loaded before from the same file; it
  /// stays until the process ends. Error when it is missing, no plugin, or check_api() fails.
  static const PjrtApi& load(const std::filesystem::path& plugin);

  const PJRT_Api* operator->() const { return table_; }
  const std::string& version() const { return version_; }
  const std::string& plugin() const { return plugin_; }

  /// Frees `error`; unless null, throws "<what>: <the plugin's reason>", one line.
  void check(PJRT_Error* error, std::string_view what) const;
  /// Frees `error` and says nothing: for destructors.
  void discard(PJRT_Error* error) const;
  /// Waits for `event` and frees it; Error as for check(). Null is an event that has happened.
  void await(PJRT_Event* event, std::string_view what) const;
  /// The same for several events: waits for all, then reports the first failure.
  void await_all(std::span<PJRT_Event* const> events, std::string_view what) const;

 private:
  PjrtApi(const PJRT_Api* table, std::string plugin);
  PJRT_Error* finish(PJRT_Event* event) const;

  const PJRT_Api* table_;
  std::string plugin_;
  std::string version_;
};

/// Error unless the plugin's table has every function that Toroid calls.
void check_api(const PJRT_Api& table, const std::string& plugin);

/// A compiler's message on one line of bounded length: runs of white space become one space.
std::string one_line(std::string_view message);

/// Declares the zeroed argument structure of a PJRT function; struct_size tells the plugin how
/// much of it this build knows.
#define TOROID_PJRT_ARGS(type, name) \
  type name = {};                    \
  name.struct_size = type##_STRUCT_SIZE

}  // namespace toroid
