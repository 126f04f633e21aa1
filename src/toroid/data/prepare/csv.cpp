#include "toroid/data/prepare/csv.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "toroid/base/error.h"
#include "toroid/base/file.h"

namespace toroid {
namespace {

/// Cuts a text into rows of fields.
class Parser {
 public:
  Parser(std::string_view text, const std::string& path) : text_(text), path_(path) {
    if (text_.starts_with("\xef\xbb\xbf")) at_ = 3;  // a byte order mark, as spreadsheets write
  }

  bool next(CsvRow& row) {
    while (at_ < text_.size() && at_line_end()) skip_line_end();
    if (at_ >= text_.size()) return false;
    row = {line_, {}};
    while (true) {
      row.fields.push_back(text_[at_] == '"' ? quoted() : plain());
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        if (at_ < text_.size()) continue;
        row.fields.emplace_back();  // the file ends after a comma
      }
      skip_line_end();
      return true;
    }
  }

 private:
  bool at_line_end() const {
    return text_[at_] == '\n' || (text_[at_] == '\r' && text_.substr(at_, 2) == "\r\n");
  }
  void skip_line_end() {
    if (at_ >= text_.size()) return;
    at_ += text_[at_] == '\r' ? 2 : 1;
    ++line_;
  }

  std::string plain() {
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != ',' && !at_line_end()) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }

  std::string quoted() {
    const std::int64_t first_line = line_;
    std::string field;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') {
        field.push_back(text_[at_]);
      } else if (text_.substr(at_, 2) == "\"\"") {
        field.push_back('"');
        ++at_;
      } else {
        ++at_;
        if (at_ < text_.size() && text_[at_] != ',' && !at_line_end()) {
          fail("{}: line {}: text follows a closing quote; double the quotes inside a field", path_,
               line_);
        }
        return field;
      }
    }
    fail("{}: line {}: a quoted field does not end", path_, first_line);
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace

CsvTable::CsvTable(const std::filesystem::path& path) : path_(path.string()) {
  const std::string text = read_file(path);
  Parser parser(text, path_);
  CsvRow row;
  if (!parser.next(row)) fail("{}: is empty; expected a line with the columns' names", path_);
  header_ = row.fields;
  while (parser.next(row)) {
    if (row.fields.size() != header_.size()) {
      fail("{}: line {}: has {} fields, but the header has {} columns", path_, row.line,
           row.fields.size(), header_.size());
    }
    rows_.push_back(row);
  }
}

std::size_t CsvTable::column(const std::string& name) const {
  const auto count = std::count(header_.begin(), header_.end(), name);
  if (count != 1) {
    fail_usage("{}: has {} column \"{}\"; its columns are: {}", path_,
               count == 0 ? "no" : "more than one", name, fmt::join(header_, ", "));
  }
  return static_cast<std::size_t>(std::find(header_.begin(), header_.end(), name) -
                                  header_.begin());
}

}  // namespace toroid
