#include "toroid/data/loader.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>

#include "toroid/base/error.h"
#include "toroid/base/machine.h"
#include "toroid/base/random.h"
#include "toroid/models/batch_norm_groups.h"

namespace toroid {
namespace {

using Order = std::vector<std::uint32_t>;

/// Slots that a thread takes at once: enough to make the lock cheap for tiny pictures.
constexpr std::int64_t kChunk = 8;

/// One step while its slots are being filled.
struct Pending {
  LoadedStep step;
  std::shared_ptr<const Order> order;  ///< of the step's epoch
  std::int64_t handed_out = 0;         ///< slots given to threads
  std::int64_t finished = 0;           ///< slots done
  std::int64_t first_bad = 0;          ///< slot of `error`
  std::exception_ptr error;            ///< of the first bad slot
};

void check_options(const Dataset& dataset, const LoaderOptions& o, const LoaderPosition& start) {
  if (o.image_size < 1) fail_usage("image size {} is not positive", o.image_size);
  if (o.channels != 1 && o.channels != 3) {
    fail_usage("pictures have 1 or 3 channels, not {}", o.channels);
  }
  if (o.global_batch < 1) fail_usage("global batch {} is not positive", o.global_batch);
  if (o.micro_batches < 1 || o.micro_batches > o.global_batch) {
    fail_usage("{} micro-batches of a global batch of {}: expected 1 to {}", o.micro_batches,
               o.global_batch, o.global_batch);
  }
  if (o.world_size < 1 || o.first_replica < 0 || o.local_replicas < 1 ||
      o.first_replica + o.local_replicas > o.world_size) {
    fail_usage("replicas {}..{} do not lie in a world of {}", o.first_replica,
               o.first_replica + o.local_replicas - 1, o.world_size);
  }
  if (o.threads < 0) fail_usage("{} loader threads: expected 0 (automatic) or more", o.threads);
  if (o.prefetch < 1) fail_usage("prefetch {}: expected at least 1 step", o.prefetch);
  if (o.classes > 0 && dataset.classes() > o.classes) {
    fail_usage("{}: the data set has {} classes, more than the {} asked for", dataset.pattern(),
               dataset.classes(), o.classes);
  }
  const std::int64_t steps = steps_per_epoch(dataset.size(), o.global_batch);
  if (start.epoch < 0 || start.batch < 0 || start.batch >= steps) {
    fail("{}: there is no batch {} in epoch {}: an epoch has {} of them", dataset.pattern(),
         start.batch, start.epoch, steps);
  }
  check_augmentations(o.augment);
  check_sizes(o.augment, o.image_size);
}

}  // namespace

std::int64_t steps_per_epoch(std::int64_t examples, std::int64_t global_batch) {
  return (examples + global_batch - 1) / global_batch;
}

class Loader::Implementation {
 public:
  Implementation(const Dataset& dataset, LoaderOptions options, LoaderPosition start)
      : dataset_(dataset), options_(std::move(options)), upcoming_(start) {
    check_options(dataset_, options_, start);
    micro_batch_ = toroid::replica_batch(options_.global_batch, options_.micro_batches);
    slots_ = toroid::replica_batch(micro_batch_, options_.world_size);
    classes_ = options_.classes > 0 ? options_.classes : dataset_.classes();
    const int threads = options_.threads > 0 ? options_.threads : usable_threads();
    threads_.reserve(static_cast<std::size_t>(threads));
    try {
      for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
      stop();
      fail("cannot start {} loader threads: {}; set data.threads lower", threads,
           error.code().message());
    }
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  ~Implementation() { stop(); }

  LoadedStep next();
  std::int64_t steps() const {
    return toroid::steps_per_epoch(dataset_.size(), options_.global_batch);
  }
  std::int64_t slots() const { return slots_; }

 private:
  std::int64_t local_slots() const { return slots_ * options_.local_replicas; }
  void stop();
  void work();
  bool can_begin() const;
  void begin();
  std::unique_ptr<Pending> make_step();
  void fill(Pending& pending, std::int64_t slot) const;
  Image load(std::uint32_t id, std::int64_t epoch, std::int32_t& label) const;

  const Dataset& dataset_;
  const LoaderOptions options_;
  std::int64_t micro_batch_ = 0;
  std::int64_t slots_ = 0;
  std::int64_t classes_ = 0;

  std::mutex mutex_;  // guards all that follows
  std::condition_variable has_work_, has_step_;
  std::deque<std::unique_ptr<Pending>> pending_;  ///< in order; all but the last are handed out
  LoaderPosition upcoming_;                       ///< of the next step to begin
  std::int64_t upcoming_first_ = 0;               ///< and its first example in the global batch
  std::int64_t begun_ = 0, taken_ = 0;
  std::shared_ptr<const Order> order_;
  std::int64_t order_epoch_ = -1;
  bool stopping_ = false;
  std::exception_ptr failure_;  ///< why no step can be begun any more

  std::vector<std::thread> threads_;  // last: they use the rest
};

void Loader::Implementation::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

bool Loader::Implementation::can_begin() const {
  return static_cast<int>(pending_.size()) < options_.prefetch &&
         (options_.steps == 0 || begun_ < options_.steps);
}

/// Begins the upcoming step: decides its examples and takes its memory.
void Loader::Implementation::begin() {
  if (order_epoch_ != upcoming_.epoch) {
    if (options_.shuffle) {
      order_ = std::make_shared<const Order>(permutation(
          dataset_.size(), options_.seed, "shuffle", static_cast<std::uint32_t>(upcoming_.epoch)));
    } else if (order_ == nullptr) {
      Order order(dataset_.size());
      std::iota(order.begin(), order.end(), 0U);
      order_ = std::make_shared<const Order>(std::move(order));
    }
    order_epoch_ = upcoming_.epoch;
  }
  pending_.push_back(make_step());
  ++begun_;
  upcoming_first_ += micro_batch_;
  if (!pending_.back()->step.last) return;
  upcoming_first_ = 0;
  if (++upcoming_.batch == steps()) upcoming_ = {upcoming_.epoch + 1, 0};
}

std::unique_ptr<Pending> Loader::Implementation::make_step() {
  auto pending = std::make_unique<Pending>();
  pending->order = order_;
  LoadedStep& step = pending->step;
  step.position = upcoming_;
  step.first = upcoming_first_;
  const std::int64_t begin = upcoming_.batch * options_.global_batch;
  const std::int64_t left =
      std::min<std::int64_t>(options_.global_batch, dataset_.size() - begin) - step.first;
  step.examples = std::min(micro_batch_, left);
  step.last = step.examples == left;
  step.full = step.examples == slots_ * options_.world_size;
  const std::int64_t size = options_.image_size;
  for (int r = 0; r < options_.local_replicas; ++r) {
    step.replicas.push_back({Tensor(DType::u8, Shape{slots_, size, size, options_.channels}),
                             Tensor(DType::i32, Shape{slots_}), Tensor(DType::u32, Shape{slots_}),
                             Tensor(DType::f32, Shape{slots_})});
  }
  return pending;
}

void Loader::Implementation::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    has_work_.wait(lock, [&] {
      return stopping_ || can_begin() ||
             (!pending_.empty() && pending_.back()->handed_out < local_slots());
    });
    if (stopping_) return;
    try {
      if (pending_.empty() || pending_.back()->handed_out == local_slots()) begin();
    } catch (...) {  // out of memory
      failure_ = std::current_exception();
      stopping_ = true;
      has_work_.notify_all();
      has_step_.notify_all();
      return;
    }
    Pending& pending = *pending_.back();
    const std::int64_t first = pending.handed_out;
    const std::int64_t last = std::min(first + kChunk, local_slots());
    pending.handed_out = last;

    lock.unlock();
    std::int64_t slot = first;
    std::exception_ptr error;
    try {
      for (; slot < last; ++slot) fill(pending, slot);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();

    if (error && (!pending.error || slot < pending.first_bad)) {
      pending.error = error;
      pending.first_bad = slot;
    }
    pending.finished += last - first;
    if (pending.finished == local_slots()) has_step_.notify_all();
  }
}

/// Loads the example of one of this process's slots, or leaves it as padding.
void Loader::Implementation::fill(Pending& pending, std::int64_t slot) const {
  LoadedStep& step = pending.step;
  Batch& batch = step.replicas[static_cast<std::size_t>(slot / slots_)];
  const auto at = static_cast<std::size_t>(slot % slots_);
  const std::int64_t place = options_.first_replica * slots_ + slot;  // in the (micro-)batch
  if (place >= step.examples) {
    batch.ids.values<std::uint32_t>()[at] = kPaddingId;
    return;
  }
  const std::int64_t position = step.position.batch * options_.global_batch + step.first + place;
  const std::uint32_t id = (*pending.order)[static_cast<std::size_t>(position)];
  const Image image = load(id, step.position.epoch, batch.labels.values<std::int32_t>()[at]);
  std::copy(image.pixels.begin(), image.pixels.end(),
            batch.images.values<std::uint8_t>().begin() +
                static_cast<std::ptrdiff_t>(at * image.pixels.size()));
  batch.ids.values<std::uint32_t>()[at] = id;
  batch.weights.values<float>()[at] = 1;
}

Image Loader::Implementation::load(std::uint32_t id, std::int64_t epoch,
                                   std::int32_t& label) const {
  const Example example = dataset_.read(id);
  const std::int64_t limit = classes_ > 0 ? classes_ : std::numeric_limits<std::int32_t>::max();
  if (example.label < 0 || example.label >= limit) {
    fail("{}: label {} is not in 0..{} ({} classes); correct the label or the number of classes",
         dataset_.describe(id), example.label, limit - 1, limit);
  }
  label = static_cast<std::int32_t>(example.label);
  std::string where = dataset_.describe(id);
  if (!example.filename.empty()) where += " (" + example.filename + ")";
  return load_picture(
      example.encoded, options_.channels, options_.augment, options_.image_size,
      {.seed = options_.seed, .epoch = static_cast<std::uint32_t>(epoch), .example_id = id}, where);
}

LoadedStep Loader::Implementation::next() {
  std::unique_lock lock(mutex_);
  if (options_.steps > 0 && taken_ == options_.steps) {
    fail("{}: the loader was made for {} steps, and one more was asked for", dataset_.pattern(),
         options_.steps);
  }
  const auto ready = [&] {
    return !pending_.empty() && pending_.front()->finished == local_slots();
  };
  has_step_.wait(lock, [&] { return ready() || failure_; });
  if (!ready()) std::rethrow_exception(failure_);
  if (pending_.front()->error) std::rethrow_exception(pending_.front()->error);
  LoadedStep step = std::move(pending_.front()->step);
  pending_.pop_front();
  ++taken_;
  lock.unlock();
  has_work_.notify_all();
  return step;
}

Loader::Loader(const Dataset& dataset, LoaderOptions options, LoaderPosition start)
    : implementation_(std::make_unique<Implementation>(dataset, std::move(options), start)) {}
Loader::Loader(Loader&&) noexcept = default;
Loader::~Loader() = default;

LoadedStep Loader::next() {
  return implementation_->next();
}
std::int64_t Loader::steps_per_epoch() const {
  return implementation_->steps();
}
std::int64_t Loader::replica_batch() const {
  return implementation_->slots();
}

}  // namespace toroid
