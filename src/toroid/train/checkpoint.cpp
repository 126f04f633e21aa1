#include "toroid/train/checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "toroid/base/error.h"
#include "toroid/base/log.h"
#include "toroid/train/checkpoint_json.h"

namespace toroid {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStem = "step-";

std::string name_for(std::int64_t step) {
  return fmt::format("{}{:06}", kStem, step);
}

// A hidden name beside the checkpoint: "tmp" while it is written, "old" while it is removed.
fs::path aside(const fs::path& folder, std::string_view purpose) {
  return folder.parent_path() /
         fmt::format(".{}.{}{}", folder.filename().string(), purpose, ::getpid());
}

// The number in "step-<digits>", or nothing for any other name.
std::optional<std::int64_t> step_of_name(std::string_view name) {
  if (!name.starts_with(kStem)) return std::nullopt;
  name.remove_prefix(kStem.size());
  std::int64_t step = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  if (error != std::errc() || end != name.data() + name.size() || step < 0) return std::nullopt;
  return step;
}

// ".step-<digits>.tmp<digits>", or the same with "old".
bool is_leftover(std::string_view name) {
  const auto all_digits = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::size_t dot = name.rfind('.');
  if (!name.starts_with('.') || dot == 0) return false;
  const std::string_view purpose = name.substr(dot + 1, 3);
  return step_of_name(name.substr(1, dot - 1)).has_value() &&
         (purpose == "tmp" || purpose == "old") && all_digits(name.substr(dot + 4));
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::error_code code;
  std::vector<fs::path> result;
  if (!fs::exists(folder, code)) return result;
  fs::directory_iterator entry(folder, code);
  for (; !code && entry != fs::directory_iterator(); entry.increment(code)) {
    std::error_code ignored;
    if (entry->is_directory(ignored)) result.push_back(entry->path());
  }
  if (code) fail("{}: cannot list the folder: {}", folder.string(), code.message());
  return result;
}

// True when nothing in the folder would be missed: some of a checkpoint's files and no others.
bool holds_only_ours(const fs::path& folder) {
  std::error_code code;
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder, code)) {
    const fs::path name = entry.path().filename();
    if (name != kCheckpointFile && name != kStateFile) return false;
    ++files;
  }
  return !code && files > 0 && !fs::is_symlink(folder, code);
}

// Takes the folder away under its final name first, so that no half of a checkpoint is ever seen
// there. Folders that hold anything else stay.
void remove_checkpoint(const fs::path& folder) {
  if (!holds_only_ours(folder)) return;
  const fs::path hidden = aside(folder, "old");
  std::error_code code;
  fs::rename(folder, hidden, code);
  if (!code) fs::remove_all(hidden, code);
  if (code) log::warning("{}: cannot remove: {}", folder.string(), code.message());
}

void remove_leftovers(const fs::path& run_folder) {
  for (const fs::path& folder : folders_in(run_folder)) {
    std::error_code code;
    if (!is_leftover(folder.filename().string()) || fs::is_symlink(folder, code)) continue;
    fs::remove_all(folder, code);
    if (code) log::warning("{}: cannot remove: {}", folder.string(), code.message());
  }
}

// A quota or a slow leak is seen only by the write itself; a full disk is better said at once.
void check_space(const fs::path& run_folder, std::span<const NamedTensor> tensors) {
  std::uintmax_t needed = 0;
  for (const NamedTensor& tensor : tensors) needed += tensor.tensor.bytes();
  std::error_code code;
  const fs::space_info space = fs::space(run_folder, code);
  if (!code && space.available < needed) {
    fail("{}: {} bytes are free, {} are needed", run_folder.string(), space.available, needed);
  }
}

// Renames the finished folder to its final name. Where a checkpoint of the same step is there (a
// damaged one that was passed over at resume), the two change places in one step if the file
// system can, so that there is always one under the name.
void publish(const fs::path& finished, const fs::path& target) {
  if (::rename(finished.c_str(), target.c_str()) == 0) return;
  int reason = errno;
  if (reason == ENOTEMPTY || reason == EEXIST) {
    if (!holds_only_ours(target)) {
      fail("{}: is there already and holds other files than a checkpoint's; move it away",
           target.string());
    }
    if (::renameat2(AT_FDCWD, finished.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) {
      std::error_code ignored;  // what stays is a leftover, which the next save removes
      fs::remove_all(finished, ignored);
      return;
    }
    remove_checkpoint(target);
    if (::rename(finished.c_str(), target.c_str()) == 0) return;
    reason = errno;
  }
  fail("{}: cannot rename the finished checkpoint to it: {}", target.string(),
       std::strerror(reason));
}

void write_checkpoint(const fs::path& target, const CheckpointInfo& info,
                      std::span<const NamedTensor> tensors) {
  const fs::path temporary = aside(target, "tmp");
  std::error_code code;
  if (!fs::create_directory(temporary, code)) {
    fail("{}: cannot create: {}", temporary.string(), code.message());
  }
  try {
    write_safetensors(temporary / kStateFile, tensors);
    write_file(temporary / kCheckpointFile,
               checkpoint_json(info, fingerprint(temporary / kStateFile)));
    publish(temporary, target);
    sync_directory(target.parent_path());
  } catch (...) {
    fs::remove_all(temporary, code);
    throw;
  }
}

// Older checkpoints than the new one go, but the newest ones and the best. Those whose description
// is damaged do not count, so that they cannot push out the last intact one.
void prune(const fs::path& run_folder, const CheckpointInfo& newest, int keep) {
  std::vector<fs::path> folders = list_checkpoints(run_folder);
  std::reverse(folders.begin(), folders.end());
  int kept = 1;  // the new one
  for (const fs::path& folder : folders) {
    std::int64_t step = 0;
    try {
      step = read_checkpoint_info(folder).step;
    } catch (const Error&) {
      if (kept >= keep) remove_checkpoint(folder);
      continue;
    }
    if (step >= newest.step || (newest.best && step == newest.best->step)) continue;
    if (kept < keep) {
      ++kept;
    } else {
      remove_checkpoint(folder);
    }
  }
}

}  // namespace

void save_checkpoint(const fs::path& run_folder, const CheckpointInfo& info,
                     std::span<const NamedTensor> tensors, int keep) {
  if (keep < 1) fail_usage("checkpoints to keep: {} given, at least 1 is needed", keep);
  try {
    remove_leftovers(run_folder);
    check_space(run_folder, tensors);
    write_checkpoint(run_folder / name_for(info.step), info, tensors);
  } catch (const Error& error) {
    throw Error(fmt::format("cannot save the checkpoint of step {}: {} (older checkpoints are as "
                            "they were)",
                            info.step, error.what()),
                error.status());
  }
  prune(run_folder, info, keep);
}

std::vector<fs::path> list_checkpoints(const fs::path& run_folder) {
  std::vector<std::pair<std::int64_t, fs::path>> found;
  for (const fs::path& folder : folders_in(run_folder)) {
    std::error_code ignored;
    const auto named = step_of_name(folder.filename().string());
    if (!named || !fs::exists(folder / kCheckpointFile, ignored)) continue;
    try {
      found.emplace_back(read_checkpoint_info(folder).step, folder);
    } catch (const Error&) {
      found.emplace_back(*named, folder);
    }
  }
  std::sort(found.begin(), found.end());
  std::vector<fs::path> result;
  for (auto& [step, folder] : found) result.push_back(std::move(folder));
  return result;
}

CheckpointInfo read_checkpoint_info(const fs::path& folder) {
  return parse_checkpoint_json(folder / kCheckpointFile).info;
}

Checkpoint load_checkpoint(const fs::path& folder) {
  CheckpointContent content = parse_checkpoint_json(folder / kCheckpointFile);
  const fs::path state = folder / kStateFile;
  const Fingerprint found = fingerprint(state);
  if (found.bytes != content.state.bytes) {
    fail("{}: has {} bytes, but its checkpoint.json says {}; it was cut short or changed",
         state.string(), found.bytes, content.state.bytes);
  }
  if (found.crc32c != content.state.crc32c) {
    fail("{}: CRC-32C {:08x}, but its checkpoint.json says {:08x}; the file is damaged or changed",
         state.string(), found.crc32c, content.state.crc32c);
  }
  return {folder, std::move(content.info), SafetensorsFile(state).read_all()};
}

std::optional<Checkpoint> load_newest(const fs::path& run_folder) {
  std::vector<fs::path> folders = list_checkpoints(run_folder);
  std::reverse(folders.begin(), folders.end());
  for (const fs::path& folder : folders) {
    try {
      return load_checkpoint(folder);
    } catch (const Error& error) {
      log::warning("checkpoint passed over: {}", error.what());
    }
  }
  if (folders.empty()) return std::nullopt;
  fail("{}: none of its {} checkpoints is intact; start afresh or restore one", run_folder.string(),
       folders.size());
}

std::vector<NamedTensor> read_tensors(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return SafetensorsFile(path).read_all();
  if (fs::exists(path / kCheckpointFile, ignored)) return load_checkpoint(path).tensors;
  std::optional<Checkpoint> newest = load_newest(path);
  if (!newest) {
    fail("{}: neither a checkpoint nor a run with one: it has no {} and no {}N folder",
         path.string(), kCheckpointFile, kStem);
  }
  return std::move(newest->tensors);
}

}  // namespace toroid
