#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "toroid/base/error.h"
#include "toroid/base/file.h"
#include "toroid/data/prepare/collection.h"
#include "toroid/data/prepare/csv.h"

namespace toroid {
namespace {

namespace fs = std::filesystem;

/// Labels above this are taken for a wrong column (a year, an id), not for classes.
constexpr std::int64_t kLargestLabel = 65535;

/// The file of a picture that a table names with or without its ending.
fs::path find_picture(const fs::path& folder, const std::string& name, const std::string& where) {
  if (name.empty()) fail("{}: the picture has no name", where);
  const fs::path exact = folder / name;
  if (fs::is_regular_file(exact)) return exact;
  std::vector<fs::path> found;
  for (const char* ending : {".jpeg", ".jpg", ".png", ".JPEG", ".JPG", ".PNG"}) {
    const fs::path candidate = folder / (name + ending);
    if (fs::is_regular_file(candidate)) found.push_back(candidate);
  }
  if (found.empty()) {
    fail("{}: there is no picture {}, nor one ending in .jpeg, .jpg or .png", where,
         exact.string());
  }
  if (found.size() > 1) {
    fail("{}: \"{}\" could be {} or {}; give the ending in the table", where, name,
         found[0].string(), found[1].string());
  }
  return found[0];
}

std::optional<std::int64_t> parse_number(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Reads the rows of one table into a collection.
class TableReader {
 public:
  TableReader(const PrepareCsvOptions& options, Collection& collection,
              std::vector<fs::path>& files)
      : options_(options), table_(options.table), collection_(collection), files_(files) {}

  void read() {
    const std::size_t image = table_.column(options_.image_column);
    const std::size_t label = table_.column(options_.label_column);
    const auto group = optional_column(options_.group_column);
    const auto split = optional_column(options_.split_column);
    if (table_.rows().empty()) fail("{}: has no rows below its header", options_.table.string());
    for (const CsvRow& row : table_.rows()) {
      const std::string where = fmt::format("{}: line {}", options_.table.string(), row.line);
      Item item;
      item.name = row.fields[image];
      files_.push_back(find_picture(options_.images, item.name, where));
      item.where = fmt::format("{} ({})", files_.back().string(), where);
      if (row.fields[label].empty()) fail("{}: the label is empty", where);
      labels_.push_back(row.fields[label]);
      if (group) item.group = row.fields[*group];
      if (group && item.group.empty()) fail("{}: the group is empty", where);
      if (split && !parse_split(row.fields[*split], item.split)) {
        fail("{}: split \"{}\" is unknown; known are: train, validation, test", where,
             row.fields[*split]);
      }
      collection_.items.push_back(std::move(item));
    }
    number_labels();
    check_groups();
  }

 private:
  std::optional<std::size_t> optional_column(const std::string& name) const {
    if (name.empty()) return std::nullopt;
    return table_.column(name);
  }

  void number_labels() {
    const bool numbers = std::all_of(labels_.begin(), labels_.end(), [](const std::string& text) {
      return parse_number(text).has_value();
    });
    if (numbers) return keep_numbers();
    std::map<std::string, std::int64_t> known;
    for (const std::string& name : labels_) known[name] = 0;
    for (auto& [name, number] : known) {
      number = static_cast<std::int64_t>(collection_.classes.size());
      collection_.classes.push_back(name);
    }
    for (std::size_t i = 0; i < labels_.size(); ++i) collection_.items[i].label = known[labels_[i]];
  }

  void keep_numbers() {
    std::int64_t largest = 0;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      const std::int64_t label = *parse_number(labels_[i]);
      if (label < 0 || label > kLargestLabel) {
        fail("{}: line {}: label {} is not in 0..{}; is \"{}\" the column of the labels?",
             options_.table.string(), table_.rows()[i].line, label, kLargestLabel,
             options_.label_column);
      }
      collection_.items[i].label = label;
      largest = std::max(largest, label);
    }
    for (std::int64_t label = 0; label <= largest; ++label) {
      collection_.classes.push_back(std::to_string(label));
    }
  }

  /// With a split column, no group may lie in two splits.
  void check_groups() const {
    std::map<std::string, std::size_t> first;
    for (std::size_t i = 0; i < collection_.items.size(); ++i) {
      const Item& item = collection_.items[i];
      if (item.group.empty()) continue;
      const auto [known, is_new] = first.emplace(item.group, i);
      const Item& other = collection_.items[known->second];
      if (!is_new && other.split != item.split) {
        fail("{}: group \"{}\" is in {} at line {} and in {} at line {}; it must be in one",
             options_.table.string(), item.group, name_of(other.split),
             table_.rows()[known->second].line, name_of(item.split), table_.rows()[i].line);
      }
    }
  }

  const PrepareCsvOptions& options_;
  const CsvTable table_;
  Collection& collection_;
  std::vector<fs::path>& files_;
  std::vector<std::string> labels_;
};

}  // namespace

DatasetInfo prepare_csv(const PrepareCsvOptions& options) {
  check_common_options(options);
  if (!options.split_column.empty() && options.validation > 0) {
    fail_usage("the splits come from column \"{}\" or from a fraction, not from both",
               options.split_column);
  }
  if (!options.group_column.empty() && options.split_column.empty() && options.validation == 0) {
    fail_usage(
        "group column \"{}\" decides a split, and none is asked for: give a validation "
        "fraction or a split column",
        options.group_column);
  }
  Collection collection;
  collection.prepared_by = "toroid prepare csv";
  std::vector<fs::path> files;
  TableReader(options, collection, files).read();
  collection.load = [&](std::size_t i) { return read_file(files[i]); };
  if (options.validation > 0) split_by_fraction(collection, options.validation, options.seed);
  return write_collection(collection, options);
}

}  // namespace toroid
