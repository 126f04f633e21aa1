// Turning labelled pictures into a data set: TFRecord shards and dataset.json in one folder
// (docs/formats/tfrecord.md). All three forms check their options first (wrong usage), name the
// file or table row of whatever they cannot use, and leave nothing behind when they fail.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "toroid/data/dataset_info.h"

namespace toroid {

/// What all forms of prepare take.
struct PrepareOptions {
  std::filesystem::path out;       ///< folder of the data set; must be empty or not exist
  double validation = 0;           ///< this fraction of train becomes validation, 0 <= f < 1
  std::uint64_t seed = 1;          ///< of that choice, and of the order of the records
  std::int64_t shard_size = 1024;  ///< records in a shard, at most; shards are of equal size
  int size = 0;                    ///< pictures become size x size (fit_to_square); 0: as they are
  int quality = 90;                ///< of a JPEG picture that is encoded again for its new size
  int jobs = 0;                    ///< threads; 0: usable_threads()
};

/// IDX files (the format of MNIST), plain or gzipped: pictures u8 [n,h,w] and labels u8 [n].
struct IdxPair {
  std::filesystem::path images;
  std::filesystem::path labels;
  std::string split = "train";  ///< train, validation or test
};
struct PrepareIdxOptions : PrepareOptions {
  std::vector<IdxPair> pairs;
  std::vector<std::string> class_names;  ///< empty: "0", "1", ... up to the largest label
};

/// One subfolder per class, named after it; classes are numbered in the order of their names. When
/// all subfolders are called train, val, validation or test, each is a split with such folders.
/// Hidden files are passed over; any other file that is no picture is an error.
struct PrepareFolderOptions : PrepareOptions {
  std::filesystem::path source;
};

/// A table with a header line: comma-separated, RFC 4180 quoting. A picture is `images` / its
/// column's value, or that with .jpeg, .jpg or .png added. Labels that are all numbers are kept
/// (0 .. largest); otherwise the distinct labels are numbered in sorted order.
struct PrepareCsvOptions : PrepareOptions {
  std::filesystem::path table;
  std::filesystem::path images;
  std::string image_column = "image";
  std::string label_column = "label";
  std::string group_column;  ///< "" or: rows with the same value go to the same split
  std::string split_column;  ///< "" or: train, validation (val, valid) or test
};

/// What was written, for people: one line per split.
std::string summary_text(const DatasetInfo& info);

DatasetInfo prepare_idx(const PrepareIdxOptions& options);
DatasetInfo prepare_folder(const PrepareFolderOptions& options);
DatasetInfo prepare_csv(const PrepareCsvOptions& options);

}  // namespace toroid
