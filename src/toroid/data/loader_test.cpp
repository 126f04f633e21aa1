#include "toroid/data/loader.h"

#include <algorithm>
#include <map>
#include <set>

#include "toroid/base/file.h"
#include "toroid/base/random.h"
#include "toroid/data/testing.h"

namespace toroid {
namespace {

class LoaderTest : public testing::Test {
 protected:
  LoaderTest() { write_numbered_shards(folder_.path(), {7, 1, 3}, 3); }
  Dataset open() const { return Dataset::open((folder_ / "a-*.tfrecord").string()); }

  static LoaderOptions options(std::int64_t global_batch, int world_size = 1) {
    LoaderOptions o;
    o.image_size = 4;
    o.channels = 1;
    o.global_batch = global_batch;
    o.world_size = o.local_replicas = world_size;
    o.threads = 2;
    o.prefetch = 2;
    return o;
  }
  /// The ids of the real slots over all local replicas, in order.
  static std::vector<std::uint32_t> ids(const LoadedStep& step) {
    std::vector<std::uint32_t> result;
    for (const Batch& batch : step.replicas) {
      for (const std::uint32_t id : batch.ids.values<std::uint32_t>()) {
        if (id != kPaddingId) result.push_back(id);
      }
    }
    return result;
  }
  static void expect_identical(const LoadedStep& a, const LoadedStep& b) {
    EXPECT_EQ(a.position, b.position);
    ASSERT_EQ(a.replicas.size(), b.replicas.size());
    for (std::size_t r = 0; r < a.replicas.size(); ++r) {
      EXPECT_TRUE(a.replicas[r].images.identical(b.replicas[r].images));
      EXPECT_TRUE(a.replicas[r].labels.identical(b.replicas[r].labels));
      EXPECT_TRUE(a.replicas[r].ids.identical(b.replicas[r].ids));
      EXPECT_TRUE(a.replicas[r].weights.identical(b.replicas[r].weights));
    }
  }

  const TemporaryFolder folder_;
};

TEST_F(LoaderTest, SlotsHoldPictureLabelIdAndWeightAndTheRestIsPadding) {
  const Dataset dataset = open();
  Loader loader(dataset, options(4));
  EXPECT_EQ(loader.steps_per_epoch(), 3);
  loader.next();
  loader.next();
  const LoadedStep step = loader.next();  // examples 8, 9, 10
  EXPECT_EQ(step.position, (LoaderPosition{0, 2}));
  EXPECT_EQ(step.examples, 3);
  EXPECT_FALSE(step.full);
  const Batch& batch = step.replicas.at(0);
  EXPECT_EQ(batch.images.type().str(), "u8[4,4,4,1]");
  EXPECT_TRUE(batch.labels.identical(Tensor::of<std::int32_t>({4}, {2, 0, 1, 0})));
  EXPECT_TRUE(batch.ids.identical(Tensor::of<std::uint32_t>({4}, {8, 9, 10, kPaddingId})));
  EXPECT_TRUE(batch.weights.identical(Tensor::of<float>({4}, {1, 1, 1, 0})));
  const auto pixels = batch.images.values<std::uint8_t>();
  EXPECT_EQ(pixels[16], 9);
  EXPECT_EQ(pixels[31], 24);
  EXPECT_EQ(std::count(pixels.begin() + 48, pixels.end(), 0), 16);
}

TEST_F(LoaderTest, GlobalBatchesAreTheSameAtAnyWorldSize) {
  const Dataset dataset = open();
  for (int world = 1; world <= 7; ++world) {
    LoaderOptions one = options(5);
    LoaderOptions many = options(5, world);
    one.shuffle = many.shuffle = true;
    one.seed = many.seed = 9;
    Loader alone(dataset, one);
    Loader together(dataset, many);
    for (int step = 0; step < 7; ++step) EXPECT_EQ(ids(alone.next()), ids(together.next()));
  }
}

// 11 examples in global batches of 5, 5 and 1.
TEST_F(LoaderTest, MicroBatchesAreTheGlobalBatchInPieces) {
  const Dataset dataset = open();
  LoaderOptions whole_options = options(5);
  whole_options.shuffle = true;
  for (int micro_batches = 1; micro_batches <= 5; ++micro_batches) {
    for (const int world : {1, 2, 3}) {
      LoaderOptions o = options(5, world);
      o.shuffle = true;
      o.micro_batches = micro_batches;
      const std::int64_t most = (5 + micro_batches - 1) / micro_batches;
      Loader whole(dataset, whole_options);
      Loader parts(dataset, o);
      EXPECT_EQ(parts.replica_batch(), (most + world - 1) / world);
      for (int i = 0; i < 6; ++i) {
        const LoadedStep expected = whole.next();
        std::vector<std::uint32_t> found;
        bool last = false;
        while (!last) {
          const LoadedStep part = parts.next();
          EXPECT_EQ(part.position, expected.position);
          EXPECT_EQ(part.first, static_cast<std::int64_t>(found.size()));
          EXPECT_EQ(part.examples, std::min(most, expected.examples - part.first));
          for (const std::uint32_t id : ids(part)) found.push_back(id);
          last = part.last;
        }
        EXPECT_EQ(found, ids(expected)) << micro_batches << " over " << world;
      }
    }
  }
  LoaderOptions o = options(5);
  o.micro_batches = 6;
  EXPECT_ERROR(Loader(dataset, o), "6 micro-batches of a global batch of 5: expected 1 to 5");
}

TEST_F(LoaderTest, AProcessGetsItsOwnReplicasAlone) {
  const Dataset dataset = open();
  Loader all(dataset, options(5, 4));
  LoaderOptions mine = options(5, 4);
  mine.first_replica = 1;
  mine.local_replicas = 2;
  Loader part(dataset, mine);
  EXPECT_EQ(part.replica_batch(), 2);
  for (int i = 0; i < 3; ++i) {
    LoadedStep whole = all.next();
    whole.replicas = {whole.replicas[1], whole.replicas[2]};
    expect_identical(part.next(), whole);
  }
}

TEST_F(LoaderTest, FullIsTheSameOnEveryRankAndMeansNoPaddingAnywhere) {
  const Dataset dataset = open();
  for (const auto& [global, world, first, last] : {std::tuple{5, 1, true, false},
                                                   {5, 2, false, false},
                                                   {4, 2, true, false},
                                                   {11, 11, true, true}}) {
    for (int rank = 0; rank < world; ++rank) {
      LoaderOptions o = options(global, world);
      o.first_replica = rank;
      o.local_replicas = 1;
      Loader loader(dataset, o);
      const auto steps = loader.steps_per_epoch();
      for (std::int64_t i = 0; i < steps; ++i) {
        EXPECT_EQ(loader.next().full, i + 1 == steps ? last : first) << global << " over " << world;
      }
    }
  }
}

TEST_F(LoaderTest, EachExampleComesOncePerEpochAndEpochsDiffer) {
  const Dataset dataset = open();
  LoaderOptions o = options(4, 3);
  o.shuffle = true;
  Loader loader(dataset, o);
  std::set<std::vector<std::uint32_t>> orders;
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::uint32_t> order;
    for (int i = 0; i < 3; ++i) {
      const LoadedStep step = loader.next();
      EXPECT_EQ(step.position, (LoaderPosition{epoch, i}));
      const auto part = ids(step);
      order.insert(order.end(), part.begin(), part.end());
    }
    EXPECT_EQ(order, permutation(11, 0, "shuffle", static_cast<std::uint32_t>(epoch)));
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 3U);
}

TEST_F(LoaderTest, ThreadsAndPrefetchDoNotChangeABit) {
  const Dataset dataset = open();
  LoaderOptions o = options(9, 2);
  o.shuffle = true;
  o.augment = {{"random_resized_crop"}, {"random_crop"}, {"flip_horizontal"}};
  o.threads = 1;
  o.prefetch = 1;
  Loader one(dataset, o);
  o.threads = 7;
  o.prefetch = 5;
  Loader seven(dataset, o);
  for (int i = 0; i < 10; ++i) expect_identical(one.next(), seven.next());
}

TEST_F(LoaderTest, StartingInTheMiddleGoesOnWithTheSameBits) {
  const Dataset dataset = open();
  LoaderOptions o = options(4);
  o.shuffle = true;
  o.augment = {{"random_resized_crop"}, {"flip_vertical"}};
  Loader whole(dataset, o);
  for (int i = 0; i < 5; ++i) whole.next();
  Loader resumed(dataset, o, {1, 2});
  for (int i = 0; i < 4; ++i) expect_identical(whole.next(), resumed.next());
  EXPECT_ERROR(Loader(dataset, o, {0, 3}), "there is no batch 3 in epoch 0: an epoch has 3");
}

TEST_F(LoaderTest, PicturesOfMixedSizeBecomeOneSizeAndGreyBecomesColour) {
  write_shard(folder_ / "a-0.tfrecord", {{.encoded = numbered_png(0, 3, 7, 1), .label = 0},
                                         {.encoded = numbered_png(1, 9, 9, 3), .label = 1},
                                         {.encoded = numbered_png(2, 1, 1, 1), .label = 2}});
  const Dataset dataset = open();
  for (const char* name : {"resize", "centre_crop", "random_resized_crop"}) {
    LoaderOptions o = options(4);
    o.image_size = 5;
    o.channels = 3;
    o.augment = {{name}};
    EXPECT_EQ(Loader(dataset, o).next().replicas[0].images.type().str(), "u8[4,5,5,3]") << name;
  }
}

TEST_F(LoaderTest, AnExampleIsAugmentedTheSameInAnyWorld) {
  const Dataset dataset = open();
  std::map<std::uint32_t, std::string> alone;
  for (int world = 1; world <= 4; ++world) {
    LoaderOptions o = options(11, world);
    o.shuffle = true;
    o.augment = {{"random_resized_crop"}, {"random_crop"}, {"flip_horizontal"}};
    o.threads = world;
    const LoadedStep step = Loader(dataset, o, {1, 0}).next();
    for (const Batch& batch : step.replicas) {
      const auto pixels = batch.images.values<std::uint8_t>();
      for (std::size_t slot = 0; slot < batch.ids.values<std::uint32_t>().size(); ++slot) {
        const std::uint32_t id = batch.ids.values<std::uint32_t>()[slot];
        const std::string picture(pixels.begin() + static_cast<std::ptrdiff_t>(16 * slot),
                                  pixels.begin() + static_cast<std::ptrdiff_t>(16 * slot + 16));
        if (id == kPaddingId) continue;
        if (world == 1) alone[id] = picture;
        EXPECT_EQ(picture, alone.at(id)) << id << " of " << world;
      }
    }
  }
  EXPECT_EQ(alone.size(), 11U);
}

TEST_F(LoaderTest, ABadLabelIsNamedAtTheStepThatHoldsIt) {
  const Dataset dataset = open();
  LoaderOptions o = options(2);
  o.classes = 2;  // example 2 has label 2
  Loader loader(dataset, o);
  loader.next();
  for (int again = 0; again < 2; ++again) {
    EXPECT_ERROR(loader.next(), "a-0.tfrecord: record 2 at byte ");
    EXPECT_ERROR(loader.next(), "label 2 is not in 0..1 (2 classes)");
  }
}

TEST_F(LoaderTest, OfSeveralBadRecordsTheFirstIsNamed) {
  write_shard(folder_ / "a-0.tfrecord",
              std::vector<Example>(40, {.encoded = "GIF89a", .label = 0, .filename = "cat.jpg"}));
  const Dataset dataset = open();
  LoaderOptions o = options(40);
  o.threads = 5;
  Loader loader(dataset, o);
  EXPECT_ERROR(loader.next(), "a-0.tfrecord: record 0 at byte 0 (cat.jpg): is a GIF picture");
}

TEST_F(LoaderTest, ADamagedRecordIsNamed) {
  std::string bytes = read_file(folder_ / "a-1.tfrecord");
  bytes[20] ^= 1;
  write_file(folder_ / "a-1.tfrecord", bytes);
  const Dataset dataset = open();
  Loader loader(dataset, options(11));
  EXPECT_ERROR(loader.next(), "a-1.tfrecord: record 0 at byte 0: the checksum of its payload");
}

TEST_F(LoaderTest, DestructionInTheMiddleDoesNotHang) {
  const Dataset dataset = open();
  for (int taken = 0; taken < 4; ++taken) {
    Loader loader(dataset, options(3));
    for (int i = 0; i < taken; ++i) loader.next();
  }
}

TEST_F(LoaderTest, NothingIsPreparedBeyondTheStepsAskedFor) {
  const Dataset dataset = open();
  LoaderOptions o = options(4);
  o.steps = 3;
  Loader loader(dataset, o);
  for (int i = 0; i < 3; ++i) loader.next();
  EXPECT_ERROR(loader.next(), "the loader was made for 3 steps");
}

TEST_F(LoaderTest, OptionsOutOfRangeAreRefused) {
  const Dataset dataset = open();
  LoaderOptions o = options(4);
  o.first_replica = 1;
  EXPECT_ERROR(Loader(dataset, o), "replicas 1..1 do not lie in a world of 1");
  o = options(0);
  EXPECT_ERROR(Loader(dataset, o), "global batch 0 is not positive");
  o = options(4);
  o.augment = {{"mixup"}};
  EXPECT_ERROR(Loader(dataset, o), "known are: centre_crop, flip_horizontal");
  o.augment = {{.name = "resize", .size = 5}};
  EXPECT_ERROR(Loader(dataset, o), "leaves pictures of 5 x 5 pixels, but data.image_size is 4");
}

}  // namespace
}  // namespace toroid
