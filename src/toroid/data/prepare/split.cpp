#include <algorithm>
#include <cmath>
#include <map>

#include "toroid/base/error.h"
#include "toroid/base/random.h"
#include "toroid/data/prepare/collection.h"

namespace toroid {

const char* name_of(Split split) {
  constexpr const char* kNames[kSplits] = {"train", "validation", "test"};
  return kNames[static_cast<int>(split)];
}

bool parse_split(const std::string& name, Split& split) {
  if (name == "train") {
    split = Split::kTrain;
  } else if (name == "validation" || name == "val" || name == "valid") {
    split = Split::kValidation;
  } else if (name == "test") {
    split = Split::kTest;
  } else {
    return false;
  }
  return true;
}

void split_by_fraction(Collection& collection, double fraction, std::uint64_t seed) {
  // Groups of training items, in the order of their names or else of the items themselves.
  std::map<std::string, std::vector<std::size_t>> named;
  std::vector<std::vector<std::size_t>> groups;
  std::size_t examples = 0;
  for (std::size_t i = 0; i < collection.items.size(); ++i) {
    const Item& item = collection.items[i];
    if (item.split == Split::kValidation) {
      fail_usage("the source has validation pictures already; leave the fraction out");
    }
    if (item.split != Split::kTrain) continue;
    ++examples;
    if (item.group.empty()) {
      groups.push_back({i});
    } else {
      named[item.group].push_back(i);
    }
  }
  for (auto& [name, members] : named) groups.push_back(std::move(members));

  const auto wanted =
      static_cast<std::size_t>(std::max(1.0, std::round(fraction * static_cast<double>(examples))));
  std::size_t moved = 0;
  for (const std::uint32_t g :
       permutation(static_cast<std::uint32_t>(groups.size()), seed, "validation")) {
    if (moved >= wanted) break;
    for (const std::size_t i : groups[g]) collection.items[i].split = Split::kValidation;
    moved += groups[g].size();
  }
  if (moved == examples) {
    fail("a validation fraction of {} takes all {} training examples ({} groups); make it smaller",
         fraction, examples, groups.size());
  }
}

}  // namespace toroid
