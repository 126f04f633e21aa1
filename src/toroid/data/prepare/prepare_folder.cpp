#include <algorithm>
#include <map>

#include "toroid/base/error.h"
#include "toroid/base/file.h"
#include "toroid/base/log.h"
#include "toroid/data/prepare/collection.h"

namespace toroid {
namespace {

namespace fs = std::filesystem;

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

/// What is in a folder, hidden names apart, sorted by name.
struct Listing {
  std::vector<fs::path> folders;
  std::vector<fs::path> files;
};

Listing list(const fs::path& folder) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error) fail("{}: cannot list the folder: {}", folder.string(), error.message());
  Listing result;
  for (const auto& entry : entries) {
    if (is_hidden(entry.path())) continue;
    if (entry.is_directory()) {
      result.folders.push_back(entry.path());
    } else if (entry.is_regular_file()) {
      result.files.push_back(entry.path());
    } else {
      fail("{}: is neither a file nor a folder; remove it", entry.path().string());
    }
  }
  std::sort(result.folders.begin(), result.folders.end());
  std::sort(result.files.begin(), result.files.end());
  return result;
}

/// The pictures below one folder of classes.
class ClassFolders {
 public:
  ClassFolders(Collection& collection, std::vector<fs::path>& files)
      : collection_(collection), files_(files) {}

  void add(const fs::path& root, Split split) {
    const Listing classes = list(root);
    if (classes.folders.empty()) {
      fail("{}: has no subfolders; expected one per class, with its pictures", root.string());
    }
    if (!classes.files.empty()) {
      log::warning("{}: {} files beside the class folders are left out, such as {}", root.string(),
                   classes.files.size(), classes.files[0].filename().string());
    }
    for (const fs::path& folder : classes.folders) add_class(folder, split);
  }

  /// Numbers the classes in the order of their names.
  void number_classes() {
    std::map<std::string, std::int64_t> numbers;
    for (const std::string& name : names_) numbers[name] = 0;
    for (auto& [name, number] : numbers) {
      number = static_cast<std::int64_t>(collection_.classes.size());
      collection_.classes.push_back(name);
    }
    for (std::size_t i = 0; i < names_.size(); ++i) {
      collection_.items[i].label = numbers[names_[i]];
    }
  }

 private:
  void add_class(const fs::path& folder, Split split) {
    const Listing inside = list(folder);
    if (!inside.folders.empty()) {
      fail("{}: is a folder inside a class's folder; move its pictures up or remove it",
           inside.folders[0].string());
    }
    if (inside.files.empty()) fail("{}: the class has no picture; remove it", folder.string());
    const std::string name = folder.filename().string();
    for (const fs::path& file : inside.files) {
      Item item;
      item.name = name + "/" + file.filename().string();
      item.where = file.string();
      item.split = split;
      collection_.items.push_back(std::move(item));
      files_.push_back(file);
      names_.push_back(name);
    }
  }

  Collection& collection_;
  std::vector<fs::path>& files_;
  std::vector<std::string> names_;  // of each item's class
};

}  // namespace

DatasetInfo prepare_folder(const PrepareFolderOptions& options) {
  check_common_options(options);
  Collection collection;
  collection.prepared_by = "toroid prepare folder";
  std::vector<fs::path> files;
  ClassFolders classes(collection, files);
  const Listing top = list(options.source);
  Split split{};
  const bool has_splits =
      !top.folders.empty() &&
      std::all_of(top.folders.begin(), top.folders.end(), [&](const fs::path& folder) {
        return parse_split(folder.filename().string(), split);
      });
  if (has_splits) {
    for (const fs::path& folder : top.folders) {
      parse_split(folder.filename().string(), split);
      classes.add(folder, split);
    }
  } else {
    classes.add(options.source, Split::kTrain);
  }
  classes.number_classes();
  collection.load = [&](std::size_t i) { return read_file(files[i]); };
  if (options.validation > 0) split_by_fraction(collection, options.validation, options.seed);
  return write_collection(collection, options);
}

}  // namespace toroid
