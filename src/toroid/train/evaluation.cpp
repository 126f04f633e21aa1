#include "toroid/train/evaluation.h"

#include <cmath>

#include "toroid/base/error.h"

namespace toroid {

NamedValues EvaluationSums::means() const {
  const auto n = static_cast<double>(examples);
  return {{"loss", loss / n}, {"top1", top1 / n}, {"top5", top5 / n}};
}

void check_same_classes(const Dataset& dataset, const std::vector<std::string>& names,
                        const std::string& source) {
  const auto& own = dataset.class_names();
  if (own.empty() || names.empty() || own == names) return;
  std::size_t i = 0;
  while (i < own.size() && i < names.size() && own[i] == names[i]) ++i;
  const auto name = [i](const std::vector<std::string>& list) {
    return i < list.size() ? list[i] : std::string("none");
  };
  fail("{}: class {} is {}, in {} it is {}; prepare both from the same classes", dataset.pattern(),
       i, name(own), source, name(names));
}

EvaluationSums evaluate(Engine& engine, const Dataset& dataset, const Placement& placement,
                        const Recipe& recipe) {
  const StepOptions& options = engine.options();
  const std::int64_t steps = steps_per_epoch(dataset.size(), options.micro_batch());
  Loader loader(dataset, {.image_size = static_cast<int>(options.image_height),
                          .channels = static_cast<int>(options.channels),
                          .classes = options.classes,
                          .global_batch = options.micro_batch(),
                          .world_size = placement.replicas,
                          .first_replica = placement.first,
                          .local_replicas = placement.local,
                          .augment = recipe.evaluation_pictures(),
                          .threads = static_cast<int>(recipe.data.threads),
                          .steps = steps});
  EvaluationSums sums;
  for (std::int64_t step = 0; step < steps; ++step) {
    const LoadedStep batch = loader.next();
    const Outputs& outputs = engine.evaluate().run(engine.state(), batch.replicas, {});
    sums.examples += std::llround(outputs.at("examples").item());
    sums.loss += outputs.at("loss_sum").item();
    sums.top1 += outputs.at("top1").item();
    sums.top5 += outputs.at("top5").item();
  }
  return sums;
}

}  // namespace toroid
