// Comma-separated tables, RFC 4180: quoted fields, doubled quotes, line ends LF or CRLF.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace toroid {

struct CsvRow {
  std::int64_t line = 0;  ///< of the file, counted from 1, where the row begins
  std::vector<std::string> fields;
};

/// A table whose first row names the columns.
class CsvTable {
 public:
  /// Errors name file and line: no header, a row with another number of fields, a quote that does
  /// not end, text after a closing quote. Empty lines are passed over.
  explicit CsvTable(const std::filesystem::path& path);

  /// The column of that name; Error (wrong usage) listing the columns when there is none or two.
  std::size_t column(const std::string& name) const;
  const std::vector<CsvRow>& rows() const { return rows_; }

 private:
  std::string path_;
  std::vector<std::string> header_;
  std::vector<CsvRow> rows_;
};

}  // namespace toroid
