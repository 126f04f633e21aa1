// What the three forms of prepare have in common: a list of labelled pictures becomes shards.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "toroid/data/prepare/prepare.h"

namespace toroid {

enum class Split { kTrain, kValidation, kTest };

inline constexpr int kSplits = 3;

/// "train", "validation", "test".
const char* name_of(Split split);
/// The split of a name, "val" and "valid" included; false when it is none.
bool parse_split(const std::string& name, Split& split);

/// One picture that is still in its file.
struct Item {
  std::string name;   ///< goes into image/filename
  std::string where;  ///< for errors: the file, or the table and its row
  std::int64_t label = 0;
  std::string group;  ///< items of one group share a split; "" = a group of its own
  Split split = Split::kTrain;
};

struct Collection {
  std::string prepared_by;  ///< goes into dataset.json
  std::vector<std::string> classes;
  std::vector<Item> items;
  /// The picture's file (JPEG or PNG) of items[i]; called from several threads.
  std::function<std::string(std::size_t)> load;
};

/// Errors of wrong usage in the common options, and an `out` folder that holds something. Asked
/// before a source is read, so that nobody waits for this answer.
void check_common_options(const PrepareOptions& options);

/// Moves `fraction` of the training items to validation, by seed. Without groups: round(fraction *
/// n) of the n items, at least one. With groups: whole groups in random order, until that number is
/// reached or passed. Error when nothing would be left to train on, or when the collection has
/// validation items already.
void split_by_fraction(Collection& collection, double fraction, std::uint64_t seed);

/// Decodes every picture once (which proves it), fits it to the size, and writes shards and
/// dataset.json: all under temporary names first; dataset.json gets its name last. Records are
/// shuffled over the shards by seed; the bytes do not depend on the number of jobs.
DatasetInfo write_collection(const Collection& collection, const PrepareOptions& options);

}  // namespace toroid
