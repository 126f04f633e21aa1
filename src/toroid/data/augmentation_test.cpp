#include "toroid/data/augmentation.h"

#include "toroid/base/testing.h"

namespace toroid {
namespace {

Augmentation random_crop(int size, int padding) {
  return {.name = "random_crop", .size = size, .padding = padding};
}

TEST(Augmentation, UnknownAndDoubledNamesAreRefused) {
  EXPECT_ERROR(check_augmentations({{"mixup"}}),
               "augmentation \"mixup\" is unknown; known are: centre_crop, flip_horizontal, "
               "flip_vertical, random_crop, random_resized_crop, resize");
  EXPECT_ERROR(check_augmentations({{"random_crop"}, {"random_crop"}}), "listed twice");
  EXPECT_ERROR(check_augmentations({random_crop(0, -1)}),
               "random_crop: padding: expected an integer in [0, 1024], got -1");
}

TEST(Augmentation, ParametersAreReadAndWritten) {
  Augmentation one{"random_resized_crop"};
  set_parameter(one, "area", std::vector<double>{0.5, 1});
  set_parameter(one, "size", std::int64_t{7});
  EXPECT_EQ(one.area, (Interval{0.5, 1}));
  const auto found = parameters(one);
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0], (std::pair<std::string, ParameterValue>{"size", std::int64_t{7}}));
  EXPECT_EQ(found[1].second, (ParameterValue{std::vector<double>{0.5, 1}}));
  Augmentation centre{"centre_crop"};
  set_parameter(centre, "fraction", std::int64_t{1});  // an integer serves as a number
  EXPECT_EQ(centre.fraction, 1);
}

TEST(Augmentation, WrongParametersSayWhatWasExpected) {
  Augmentation one{"random_resized_crop"};
  EXPECT_ERROR(set_parameter(one, "padding", std::int64_t{1}),
               "random_resized_crop has no parameter \"padding\"; it has size, area, aspect");
  EXPECT_ERROR(
      set_parameter(one, "area", std::vector<double>{1, 0.5}),
      "random_resized_crop: area: expected two rising numbers in [1e-06, 1], got [1, 0.5]");
  EXPECT_ERROR(set_parameter(one, "area", 0.5), "expected two rising numbers");
  EXPECT_ERROR(set_parameter(one, "area", std::vector<double>{}), "expected two rising numbers");
  EXPECT_ERROR(set_parameter(one, "size", 7.0), "size: expected an integer in [0, 16384], got 7");
  Augmentation flip{"flip_vertical"};
  EXPECT_ERROR(set_parameter(flip, "padding", std::int64_t{1}), "it has none");
}

TEST(Augmentation, SizingComesFirstWhereNothingElseMakesASize) {
  const Augmentation centre{.name = "centre_crop", .fraction = 0.875};
  const Augmentation flip{"flip_horizontal"};
  EXPECT_EQ(with_sizing(centre, {flip}), (std::vector<Augmentation>{centre, flip}));
  EXPECT_EQ(with_sizing(centre, {}), std::vector<Augmentation>{centre});
  const std::vector<Augmentation> sized = {flip, {"random_resized_crop"}};
  EXPECT_EQ(with_sizing(centre, sized), sized);
}

TEST(Augmentation, ListsMustEndAtTheImageSizeAndCropNoMoreThanThereIs) {
  const Augmentation larger{.name = "resize", .size = 146};
  EXPECT_NO_THROW(check_sizes({larger, random_crop(128, 0)}, 128));
  EXPECT_NO_THROW(check_sizes({{"centre_crop"}, {"random_crop"}, {"flip_vertical"}}, 128));
  EXPECT_NO_THROW(check_sizes({random_crop(300, 0), {"resize"}}, 128));
  EXPECT_ERROR(check_sizes({larger, {"random_crop"}}, 128),
               "data.augment leaves pictures of 146 x 146 pixels, but data.image_size is 128; set "
               "the size of its last crop or resize to 128");
  EXPECT_ERROR(check_sizes({{"resize"}, random_crop(140, 5)}, 128),
               "data.augment: random_crop takes 140 x 140 pixels of a picture that has 128 x 128, "
               "with 5 around");
}

}  // namespace
}  // namespace toroid
