#include "toroid/train/training_meter.h"

namespace toroid {

void TrainingMeter::time(double seconds, std::int64_t images) {
  seconds_ += seconds;
  all_seconds_ += seconds;
  all_images_ += images;
}

void TrainingMeter::add(const Outputs& outputs, double learning_rate) {
  loss_ += outputs.at("loss_sum").item();
  top1_ += outputs.at("top1").item();
  examples_ += outputs.at("examples").item();
  learning_rate_ = learning_rate;
}

double TrainingMeter::images_per_s() const {
  return all_seconds_ > 0 ? static_cast<double>(all_images_) / all_seconds_ : 0;
}

TrainRecord TrainingMeter::record(std::int64_t step, double epoch) const {
  return {.step = step,
          .epoch = epoch,
          .loss = loss(),
          .top1 = top1(),
          .learning_rate = learning_rate_,
          .images_per_s = examples_ / seconds_};
}

void TrainingMeter::reset() {
  loss_ = top1_ = examples_ = seconds_ = learning_rate_ = 0;
}

}  // namespace toroid
