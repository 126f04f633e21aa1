#include "toroid/train/predict.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "toroid/base/error.h"
#include "toroid/base/file.h"
#include "toroid/comm/self.h"
#include "toroid/data/augment.h"
#include "toroid/train/setup.h"

namespace toroid {
namespace {

constexpr std::size_t kBatch = 32;

std::vector<double> softmax(std::span<const double> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<double> result;
  for (const double logit : logits) result.push_back(std::exp(logit - largest));
  const double sum = std::accumulate(result.begin(), result.end(), 0.0);
  for (double& p : result) p /= sum;
  return result;
}

Image read_picture(const std::filesystem::path& file, const Run& run) {
  return load_picture(read_file(file), run.card.channels, run.recipe.evaluation_pictures(),
                      run.card.image_size, {}, file.string());
}

// The first pictures in `slots` slots; slots beyond them are black.
Batch batch_of(std::span<const Image> pictures, std::size_t slots, const StepOptions& options) {
  Batch batch;
  batch.images = Tensor(DType::u8, Shape{static_cast<std::int64_t>(slots), options.image_height,
                                         options.image_width, options.channels});
  auto* out = batch.images.values<std::uint8_t>().data();
  for (const Image& picture : pictures.first(std::min(slots, pictures.size()))) {
    out = std::copy(picture.pixels.begin(), picture.pixels.end(), out);
  }
  return batch;
}

}  // namespace

std::vector<std::int64_t> Prediction::ranked() const {
  std::vector<std::int64_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return probabilities[static_cast<std::size_t>(a)] > probabilities[static_cast<std::size_t>(b)];
  });
  return order;
}

std::vector<Prediction> predict(const Run& run, const BackendOptions& asked,
                                std::span<const std::filesystem::path> files) {
  std::vector<Image> pictures;
  for (const auto& file : files) pictures.push_back(read_picture(file, run));

  SelfCommunicator communicator;
  const auto backend = make_backend(backend_options(run.recipe, asked), communicator);
  const auto replicas = static_cast<std::size_t>(backend->local_replicas());
  const std::size_t slots = std::min(kBatch, (files.size() + replicas - 1) / replicas);
  StepOptions options = run.step_options(static_cast<std::int64_t>(slots * replicas));
  options.replicas = backend->local_replicas();
  Engine engine(*backend, options);
  engine.load_all(run.checkpoint.tensors, run.checkpoint.path.string());

  std::vector<Prediction> predictions;
  for (std::size_t first = 0; first < pictures.size(); first += slots * replicas) {
    const auto part = std::span(pictures).subspan(first);
    std::vector<Batch> batches;
    for (std::size_t r = 0; r < replicas; ++r) {
      batches.push_back(batch_of(part.subspan(std::min(r * slots, part.size())), slots, options));
    }
    const Outputs& outputs = engine.predict().run(engine.state(), batches, {});
    const Tensor logits = outputs.at("logits").converted(DType::f64);
    const std::size_t count = std::min(slots * replicas, part.size());
    const auto classes = static_cast<std::size_t>(options.classes);
    for (std::size_t i = 0; i < count; ++i) {
      const auto row = logits.values<double>().subspan(i * classes, classes);
      if (!std::all_of(row.begin(), row.end(), [](double x) { return std::isfinite(x); })) {
        fail("{}: what the network of {} says of it is not finite; did its training diverge?",
             files[first + i].string(), run.checkpoint.path.string());
      }
      predictions.push_back({files[first + i], softmax(row)});
    }
  }
  return predictions;
}

}  // namespace toroid
