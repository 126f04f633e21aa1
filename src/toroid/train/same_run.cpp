#include "toroid/train/same_run.h"

#include <fmt/format.h>

#include "toroid/base/error.h"

namespace toroid {

void check_same_run(const Checkpoint& checkpoint, const Recipe& recipe, std::int64_t global_batch) {
  const CheckpointInfo& info = checkpoint.info;
  const std::string path = checkpoint.path.string();
  const Recipe before = parse_recipe(info.recipe, path);
  const auto keys = result_changing_keys(before, recipe);
  if (!keys.empty()) {
    fail_usage(
        "{} was made with another recipe ({} differ{}); give another --out, or the same recipe",
        path, fmt::join(keys, ", "), keys.size() == 1 ? "s" : "");
  }
  if (info.global_batch != global_batch) {
    fail_usage("{} was made with a global batch of {}, this run's is {}; set train.global_batch",
               path, info.global_batch, global_batch);
  }
  if (before.train.examples != recipe.train.examples) {
    fail_usage("{} was made with {} training pictures, {} holds {}; give another --out", path,
               before.train.examples, recipe.data.train, recipe.train.examples);
  }
}

}  // namespace toroid
