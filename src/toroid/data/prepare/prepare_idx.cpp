#include <algorithm>

#include "toroid/base/error.h"
#include "toroid/data/image.h"
#include "toroid/data/prepare/collection.h"
#include "toroid/data/prepare/idx.h"

namespace toroid {
namespace {

/// Where an item's pixels lie.
struct Place {
  std::size_t pair = 0;
  std::size_t picture = 0;
};

void check_pair(const IdxPair& pair, const IdxFile& images, const IdxFile& labels) {
  if (images.sizes[0] != labels.sizes[0]) {
    fail("{}: holds {} pictures, but {} holds {} labels; they belong to different sets",
         pair.images.string(), images.sizes[0], pair.labels.string(), labels.sizes[0]);
  }
  if (images.sizes[1] < 1 || images.sizes[2] < 1 ||
      images.sizes[1] * images.sizes[2] > kMaximumPixels) {
    fail("{}: pictures of {} x {} pixels cannot be used", pair.images.string(), images.sizes[2],
         images.sizes[1]);
  }
}

std::vector<std::string> name_classes(const PrepareIdxOptions& options, const Collection& found) {
  std::int64_t largest = 0;
  for (const Item& item : found.items) {
    if (!options.class_names.empty() &&
        item.label >= static_cast<std::int64_t>(options.class_names.size())) {
      fail("{}: label {} has no name: only {} class names are given", item.where, item.label,
           options.class_names.size());
    }
    largest = std::max(largest, item.label);
  }
  if (!options.class_names.empty()) return options.class_names;
  std::vector<std::string> names;
  for (std::int64_t label = 0; label <= largest; ++label) names.push_back(std::to_string(label));
  return names;
}

}  // namespace

DatasetInfo prepare_idx(const PrepareIdxOptions& options) {
  check_common_options(options);
  if (options.pairs.empty()) fail_usage("no IDX files are given");
  Collection collection;
  collection.prepared_by = "toroid prepare idx";
  std::vector<IdxFile> pictures;
  std::vector<Place> places;
  for (const IdxPair& pair : options.pairs) {
    Split split{};
    if (!parse_split(pair.split, split)) {
      fail_usage("split \"{}\" is unknown; known are: train, validation, test", pair.split);
    }
    IdxFile images = read_idx(pair.images, 3);
    const IdxFile labels = read_idx(pair.labels, 1);
    check_pair(pair, images, labels);
    for (std::size_t i = 0; i < labels.elements.size(); ++i) {
      Item item;
      item.name = fmt::format("{}:{}", pair.images.filename().string(), i);
      item.where = fmt::format("{}: picture {}", pair.images.string(), i);
      item.label = static_cast<unsigned char>(labels.elements[i]);
      item.split = split;
      collection.items.push_back(std::move(item));
      places.push_back({pictures.size(), i});
    }
    pictures.push_back(std::move(images));
  }
  if (collection.items.empty()) fail("{}: holds no picture", options.pairs[0].images.string());
  collection.classes = name_classes(options, collection);
  collection.load = [&](std::size_t i) {
    const IdxFile& file = pictures[places[i].pair];
    Image image(static_cast<int>(file.sizes[1]), static_cast<int>(file.sizes[2]), 1);
    std::copy_n(file.elements.begin() +
                    static_cast<std::ptrdiff_t>(places[i].picture * image.pixels.size()),
                image.pixels.size(), image.pixels.begin());
    return encode_png(image);  // lossless
  };
  if (options.validation > 0) split_by_fraction(collection, options.validation, options.seed);
  return write_collection(collection, options);
}

}  // namespace toroid
