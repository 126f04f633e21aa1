#include "toroid/backends/xla/pjrt_api.h"

#include <dlfcn.h>
#include <pjrt_c_api.h>
#include <stdlib.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "toroid/base/error.h"

namespace toroid {
namespace {

// 0.57 was the last version that moved functions within the table; since then it only grows.
constexpr int kOldestMinor = 57;
constexpr std::size_t kNeededSize = offsetof(PJRT_Api, PJRT_Executable_OutputDimensions) +
                                    sizeof(PJRT_Api::PJRT_Executable_OutputDimensions);

const PJRT_Api* open_plugin(const std::string& plugin) {
  // XLA reports its start on standard error; from warnings on it may, unless the user asks for
  // more.
  ::setenv("TF_CPP_MIN_LOG_LEVEL", "1", /*overwrite=*/0);
  void* library = ::dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = ::dlerror();
    fail("cannot load the plugin {}: {}", plugin, one_line(reason != nullptr ? reason : ""));
  }
  using GetPjrtApi = const PJRT_Api* (*)();
  auto get = reinterpret_cast<GetPjrtApi>(::dlsym(library, "GetPjrtApi"));
  if (get == nullptr) {
    fail("{} is no PJRT plugin: it does not export GetPjrtApi", plugin);
  }
  const PJRT_Api* table = get();
  if (table == nullptr) fail("the plugin {} returned no PJRT API", plugin);
  return table;
}

std::string version_of(const PJRT_Api& table) {
  return fmt::format("{}.{}", table.pjrt_api_version.major_version,
                     table.pjrt_api_version.minor_version);
}

}  // namespace

std::string one_line(std::string_view message) {
  constexpr std::size_t kLongest = 2000;  // libtpu lists every large allocation
  std::string result;
  bool space = false;
  for (const char c : message) {
    if (static_cast<unsigned char>(c) <= ' ') {
      space = !result.empty();
      continue;
    }
    if (result.size() >= kLongest) return result + " ...";
    if (space) result += ' ';
    space = false;
    result += c;
  }
  return result;
}

void check_api(const PJRT_Api& table, const std::string& plugin) {
  // The version lies in the first bytes, which every plugin has.
  const auto& version = table.pjrt_api_version;
  if (version.major_version != PJRT_API_MAJOR || version.minor_version < kOldestMinor) {
    fail("the plugin {} speaks PJRT API {}, Toroid needs {}.{} or a later {}.x: use {} plugin",
         plugin, version_of(table), PJRT_API_MAJOR, kOldestMinor, PJRT_API_MAJOR,
         version.major_version > PJRT_API_MAJOR ? "an older" : "a newer");
  }
  if (table.struct_size < kNeededSize) {
    fail(
        "the plugin {} (PJRT API {}) has a function table of {} bytes, Toroid needs {} (API {}.{})",
        plugin, version_of(table), table.struct_size, kNeededSize, PJRT_API_MAJOR, kOldestMinor);
  }
}

PjrtApi::PjrtApi(const PJRT_Api* table, std::string plugin)
    : table_(table), plugin_(std::move(plugin)), version_(version_of(*table)) {
  check_api(*table_, plugin_);
  TOROID_PJRT_ARGS(PJRT_Plugin_Initialize_Args, args);
  check(table_->PJRT_Plugin_Initialize(&args), "cannot initialize the plugin " + plugin_);
}

const PjrtApi& PjrtApi::load(const std::filesystem::path& plugin) {
  std::error_code error;
  const std::string path = std::filesystem::canonical(plugin, error).string();
  if (error) {
    fail("cannot load the plugin {}: {} (tools/fetch_pjrt.sh installs one for CPUs)",
         plugin.string(), error.message());
  }
  // A plugin cannot be unloaded and must be initialized once: this is the process's state.
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<const PjrtApi>> loaded;
  const std::lock_guard lock(mutex);
  auto& api = loaded[path];
  if (api == nullptr) api.reset(new PjrtApi(open_plugin(path), path));
  return *api;
}

void PjrtApi::discard(PJRT_Error* error) const {
  if (error == nullptr) return;
  TOROID_PJRT_ARGS(PJRT_Error_Destroy_Args, args);
  args.error = error;
  table_->PJRT_Error_Destroy(&args);
}

void PjrtApi::check(PJRT_Error* error, std::string_view what) const {
  if (error == nullptr) return;
  TOROID_PJRT_ARGS(PJRT_Error_Message_Args, message);
  message.error = error;
  table_->PJRT_Error_Message(&message);
  const std::string reason = one_line({message.message, message.message_size});

  TOROID_PJRT_ARGS(PJRT_Error_GetCode_Args, code);
  code.error = error;
  PJRT_Error* unknown_code = table_->PJRT_Error_GetCode(&code);
  const bool too_large = unknown_code == nullptr && code.code == PJRT_Error_Code_RESOURCE_EXHAUSTED;

  discard(error);
  discard(unknown_code);
  throw Error(fmt::format("{}: {}", what, reason),
              too_large ? ExitStatus::kDoesNotFit : ExitStatus::kFailed);
}

PJRT_Error* PjrtApi::finish(PJRT_Event* event) const {
  if (event == nullptr) return nullptr;
  TOROID_PJRT_ARGS(PJRT_Event_Await_Args, wait);
  wait.event = event;
  PJRT_Error* error = table_->PJRT_Event_Await(&wait);
  TOROID_PJRT_ARGS(PJRT_Event_Destroy_Args, destroy);
  destroy.event = event;
  discard(table_->PJRT_Event_Destroy(&destroy));
  return error;
}

void PjrtApi::await(PJRT_Event* event, std::string_view what) const {
  check(finish(event), what);
}

void PjrtApi::await_all(std::span<PJRT_Event* const> events, std::string_view what) const {
  PJRT_Error* first = nullptr;
  for (PJRT_Event* event : events) {
    PJRT_Error* error = finish(event);
    if (first == nullptr) {
      first = error;
    } else {
      discard(error);
    }
  }
  check(first, what);
}

}  // namespace toroid
