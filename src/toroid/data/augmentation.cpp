#include "toroid/data/augmentation.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "toroid/base/error.h"

namespace toroid {
namespace {

/// A parameter and its range; an interval's low end must not be above its high end.
struct Parameter {
  const char* name;
  std::variant<int Augmentation::*, double Augmentation::*, Interval Augmentation::*> field;
  double low, high;
};

constexpr double kSmallest = 1e-6;  // keeps windows and aspect ratios away from 0
const Parameter kSize{"size", &Augmentation::size, 0, 1 << 14};
const Parameter kFraction{"fraction", &Augmentation::fraction, kSmallest, 1};
const Parameter kArea{"area", &Augmentation::area, kSmallest, 1};
const Parameter kAspect{"aspect", &Augmentation::aspect, 1e-3, 1e3};
const Parameter kPadding{"padding", &Augmentation::padding, 0, 1024};

struct Kind {
  const char* name;
  bool makes_size;
  std::vector<Parameter> parameters;
};

const std::array<Kind, 6>& kinds() {
  static const std::array<Kind, 6> all = {
      Kind{"centre_crop", true, {kSize, kFraction}},
      Kind{"flip_horizontal", false, {}},
      Kind{"flip_vertical", false, {}},
      Kind{"random_crop", false, {kSize, kPadding}},
      Kind{"random_resized_crop", true, {kSize, kArea, kAspect}},
      Kind{"resize", true, {kSize}},
  };
  return all;
}

const Kind& find(const std::string& name) {
  for (const Kind& kind : kinds()) {
    if (name == kind.name) return kind;
  }
  fail_usage("augmentation \"{}\" is unknown; known are: {}", name,
             fmt::join(augmentation_names(), ", "));
}

ParameterValue value_of(const Augmentation& augmentation, const Parameter& parameter) {
  return std::visit(
      [&](auto field) -> ParameterValue {
        const auto& value = augmentation.*field;
        if constexpr (std::is_same_v<decltype(field), int Augmentation::*>) {
          return std::int64_t{value};
        } else if constexpr (std::is_same_v<decltype(field), Interval Augmentation::*>) {
          return std::vector<double>{value.low, value.high};
        } else {
          return value;
        }
      },
      parameter.field);
}

/// The numbers of a value that may be an integer where a number is expected.
std::vector<double> numbers_of(const ParameterValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return {static_cast<double>(*integer)};
  }
  if (const auto* number = std::get_if<double>(&value)) return {*number};
  return std::get<std::vector<double>>(value);
}

std::string expectation(const Parameter& parameter) {
  const std::array kinds = {"an integer", "a number", "two rising numbers"};
  return fmt::format("{} in [{:.6g}, {:.6g}]", kinds.at(parameter.field.index()), parameter.low,
                     parameter.high);
}

void check_value(const Augmentation& augmentation, const Parameter& parameter,
                 const ParameterValue& value) {
  const std::vector<double> numbers = numbers_of(value);
  const std::size_t wanted = parameter.field.index() == 2 ? 2 : 1;
  const bool integer = parameter.field.index() != 0 || std::holds_alternative<std::int64_t>(value);
  const bool inside = std::all_of(numbers.begin(), numbers.end(), [&](double x) {
    return x >= parameter.low && x <= parameter.high;
  });
  if (numbers.size() != wanted || !integer || !inside || numbers.front() > numbers.back()) {
    fail_usage("{}: {}: expected {}, got {}{}{}", augmentation.name, parameter.name,
               expectation(parameter), wanted == 2 ? "[" : "", fmt::join(numbers, ", "),
               wanted == 2 ? "]" : "");
  }
}

}  // namespace

const std::vector<std::string>& augmentation_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Kind& kind : kinds()) list.emplace_back(kind.name);
    return list;
  }();
  return names;
}

std::vector<std::pair<std::string, ParameterValue>> parameters(const Augmentation& augmentation) {
  std::vector<std::pair<std::string, ParameterValue>> result;
  for (const Parameter& parameter : find(augmentation.name).parameters) {
    result.emplace_back(parameter.name, value_of(augmentation, parameter));
  }
  return result;
}

void set_parameter(Augmentation& augmentation, const std::string& name,
                   const ParameterValue& value) {
  std::vector<std::string> names;
  for (const Parameter& parameter : find(augmentation.name).parameters) {
    names.emplace_back(parameter.name);
    if (name != parameter.name) continue;
    check_value(augmentation, parameter, value);
    const std::vector<double> numbers = numbers_of(value);
    std::visit(
        [&](auto field) {
          if constexpr (std::is_same_v<decltype(field), Interval Augmentation::*>) {
            augmentation.*field = {numbers[0], numbers[1]};
          } else {
            augmentation.*field =
                static_cast<std::decay_t<decltype(augmentation.*field)>>(numbers[0]);
          }
        },
        parameter.field);
    return;
  }
  fail_usage("{} has no parameter \"{}\"; it has {}", augmentation.name, name,
             names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

void check_augmentations(const std::vector<Augmentation>& augmentations) {
  for (std::size_t i = 0; i < augmentations.size(); ++i) {
    const Augmentation& one = augmentations[i];
    for (const Parameter& parameter : find(one.name).parameters) {
      check_value(one, parameter, value_of(one, parameter));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (augmentations[j].name == one.name) {
        fail_usage("augmentation \"{}\" is listed twice; list it once", one.name);
      }
    }
  }
}

bool makes_size(const Augmentation& augmentation) {
  return find(augmentation.name).makes_size;
}

std::vector<Augmentation> with_sizing(const Augmentation& sizing,
                                      std::vector<Augmentation> augmentations) {
  const bool sized = std::any_of(augmentations.begin(), augmentations.end(), makes_size);
  if (!sized) augmentations.insert(augmentations.begin(), sizing);
  return augmentations;
}

std::string too_large(const Augmentation& crop, int height, int width) {
  return fmt::format(
      "random_crop takes {0} x {0} pixels of a picture that has {1} x {2}, with {3} around; lower "
      "its size, or put a resize before it",
      crop.size, width, height, crop.padding);
}

void check_sizes(const std::vector<Augmentation>& augmentations, int image_size) {
  int size = 0;  // of the picture; 0: not known
  for (const Augmentation& one : augmentations) {
    if (makes_size(one)) {
      size = one.size > 0 ? one.size : image_size;
    } else if (one.name == "random_crop" && one.size > 0) {
      if (size > 0 && one.size > size + 2 * one.padding) {
        fail_usage("data.augment: {}", too_large(one, size, size));
      }
      size = one.size;
    }
  }
  if (size != image_size) {
    fail_usage(
        "data.augment leaves pictures of {0} x {0} pixels, but data.image_size is {1}; set the "
        "size of its last crop or resize to {1}",
        size, image_size);
  }
}

}  // namespace toroid
