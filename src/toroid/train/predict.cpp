#include "toroid/train/predict.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "toroid/base/error.h"
#include "toroid/base/file.h"
#include "toroid/comm/self.h"
#include "toroid/data/image.h"
#include "toroid/data/resize.h"

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

Image read_picture(const std::filesystem::path& file, const ModelCard& card) {
  return fit_to_square(decode_image(read_file(file), card.channels, file.string()),
                       card.image_size);
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

std::vector<Prediction> predict(const Run& run, const BackendOptions& backend_options,
                                std::span<const std::filesystem::path> files) {
  std::vector<Image> pictures;
  for (const auto& file : files) pictures.push_back(read_picture(file, run.card));

  SelfCommunicator communicator;
  const auto backend = make_backend(backend_options, communicator);
  const std::size_t slots = std::min(kBatch, files.size());
  Engine engine(*backend, run.step_options(static_cast<std::int64_t>(slots)));
  engine.load_all(run.checkpoint.tensors, run.checkpoint.path.string());

  const StepOptions& o = engine.options();
  std::vector<Prediction> predictions;
  for (std::size_t first = 0; first < pictures.size(); first += slots) {
    Batch batch;
    batch.images =
        Tensor(DType::u8, Shape{o.global_batch, o.image_height, o.image_width, o.channels});
    const std::size_t count = std::min(slots, pictures.size() - first);
    auto* out = batch.images.values<std::uint8_t>().data();
    for (std::size_t i = 0; i < count; ++i) {
      out = std::copy(pictures[first + i].pixels.begin(), pictures[first + i].pixels.end(), out);
    }
    const Outputs outputs = engine.predict().run(engine.state(), {&batch, 1}, {});
    const Tensor logits = outputs.at("logits").converted(DType::f64);
    const auto classes = static_cast<std::size_t>(o.classes);
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
