// Batches of decoded, augmented pictures, prepared ahead by threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "toroid/backends/backend.h"
#include "toroid/data/augment.h"
#include "toroid/data/dataset.h"

namespace toroid {

/// The id of a slot without an example.
inline constexpr std::uint32_t kPaddingId = 0xffffffffU;

struct LoaderOptions {
  int image_size = 0;             ///< pictures become image_size x image_size
  int channels = 3;               ///< 1 or 3
  std::int64_t classes = 0;       ///< labels must be below; 0: the data set's number
  std::int64_t global_batch = 0;  ///< examples of all replicas together
  int micro_batches = 1;          ///< of a global batch, at most: next() gives one of them
  int world_size = 1;             ///< replicas in all
  int first_replica = 0;          ///< this process drives replicas first_replica ..
  int local_replicas = 1;         ///< .. first_replica + local_replicas - 1
  bool shuffle = false;           ///< else in order
  std::vector<Augmentation> augment = {{"centre_crop"}};  ///< a list of with_sizing
  std::uint64_t seed = 0;                                 ///< of order and augmentation
  int threads = 0;                                        ///< 0: usable_threads()
  int prefetch = 4;                                       ///< steps prepared ahead, at least 1
  std::int64_t steps = 0;  ///< steps that will be asked for; 0: without end
};

/// A place in the sequence of global batches.
struct LoaderPosition {
  std::int64_t epoch = 0;
  std::int64_t batch = 0;  ///< 0 .. steps_per_epoch-1
  friend bool operator==(const LoaderPosition&, const LoaderPosition&) = default;
};

/// This process's part of one global batch, or of a micro-batch of it.
struct LoadedStep {
  LoaderPosition position;
  std::int64_t first = 0;     ///< place of its first example in the global batch
  std::int64_t examples = 0;  ///< real examples of all replicas together
  bool full = false;          ///< no replica of the whole world has padding: the same on all ranks
  bool last = false;          ///< it ends the global batch
  std::vector<Batch> replicas;  ///< one per local replica
};

/// ceil(examples / global_batch): the last batch of an epoch may be smaller.
std::int64_t steps_per_epoch(std::int64_t examples, std::int64_t global_batch);

/// The sequence of global batches of a data set. With n examples and global batch G, batch k of
/// epoch e holds the positions k*G .. min((k+1)*G, n)-1 of that epoch's order, which is
/// permutation(n, seed, "shuffle", e) with `shuffle` and 0 .. n-1 otherwise. Each of W replicas has
/// L = ceil(G/W) slots; replica r holds the examples r*L .. (r+1)*L-1 of the global batch, and
/// slots beyond its end are padding: weight 0, label 0, id kPaddingId, a black picture. So the
/// examples of a global batch depend neither on the world size nor on threads, and each comes once
/// per epoch.
///
/// With k > 1 micro-batches, next() gives M = ceil(G/k) consecutive examples of the global batch at
/// a time, laid out on replicas as above with M for G, until it has given all: the last one may be
/// smaller, and an epoch's last global batch may have fewer of them.
class Loader {
 public:
  /// Starts preparing at `start`. The data set must outlive the loader. Error when an option is out
  /// of range.
  Loader(const Dataset& dataset, LoaderOptions options, LoaderPosition start = {});
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) = delete;
  ~Loader();

  /// The next step; waits for it. Throws the Error of the step's first bad record: a damaged record
  /// or picture, or a label outside 0 .. classes-1, each with file and record; so does each call
  /// after it. Error when more than options.steps are asked for.
  LoadedStep next();

  std::int64_t steps_per_epoch() const;
  /// L: slots of a replica.
  std::int64_t replica_batch() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace toroid
