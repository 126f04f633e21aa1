// For the checks with other people's readers:
//   reader_samples write DIR    files as training writes them, beside JSON that says what they hold
//   reader_samples list FILE    what Toroid reads from a safetensors file, as JSON
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "toroid/base/error.h"
#include "toroid/base/file.h"
#include "toroid/report/events.h"
#include "toroid/train/checkpoint.h"
#include "toroid/train/safetensors.h"

namespace toroid {
namespace {

using Json = nlohmann::ordered_json;

Json described(const NamedTensor& entry) {
  std::string bytes;
  for (std::size_t i = 0; i < entry.tensor.bytes(); ++i) {
    bytes += fmt::format("{:02x}", std::to_integer<int>(entry.tensor.raw()[i]));
  }
  return {{"type", entry.tensor.type().str()}, {"bytes", bytes}};
}

Json described(const std::vector<NamedTensor>& tensors, const Metadata& metadata) {
  Json result = {{"metadata", metadata}, {"tensors", Json::object()}};
  for (const NamedTensor& entry : tensors) result["tensors"][entry.name] = described(entry);
  return result;
}

std::vector<NamedTensor> one_of_each() {
  return {{"head/dense/kernel", Tensor::of<float>({2, 3}, {0, -0.0F, 1e-40F, 3, 4, 5})},
          {"double", Tensor::of<double>({2}, {0.1, std::numeric_limits<double>::infinity()})},
          {"bfloat16", Tensor::of<BFloat16>({3}, {BFloat16(1), BFloat16(-2), BFloat16(3)})},
          {"int", Tensor::of<std::int32_t>({2}, {-1, 2147483647})},
          {"unsigned", Tensor::scalar<std::uint32_t>(4294967295U)},
          {"byte", Tensor::of<std::uint8_t>({1, 3}, {0, 127, 255})},
          {"bool", Tensor::of<bool>({3}, {true, false, true})},
          {"empty", Tensor(DType::f32, {0, 4})},
          {"d\u00e9j\u00e0 \"vu\"", Tensor::scalar(1.5F)}};
}

// Killed in the middle of a record after step 150, resumed from step 100.
void write_events(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  {
    EventWriter first(folder);
    for (const int step : {50, 100, 150}) first.write(step, {{"loss", step / 100.0}});
    const std::string content = read_file(first.path());
    std::ofstream(first.path(), std::ios::app) << content.substr(content.size() - 40, 25);
  }
  EventWriter second(folder, 100);
  second.write(110, {{"loss", 0.25}, {"top1", std::numeric_limits<double>::quiet_NaN()}});
  second.write(120, {{"loss", std::numeric_limits<double>::infinity()}});
}

void write_samples(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const Metadata metadata = {{"made by", "toroid"}};
  write_safetensors(folder / "types.safetensors", one_of_each(), metadata);
  write_file(folder / "types.json", described(one_of_each(), metadata).dump());
  write_safetensors(folder / "nothing.safetensors", {});
  write_file(folder / "nothing.json", described({}, {}).dump());
  CheckpointInfo info;
  info.step = 12;
  save_checkpoint(folder, info, one_of_each(), 1);
  write_file(folder / "step-000012.json", described(one_of_each(), {}).dump());
  std::filesystem::remove_all(folder / "events");
  write_events(folder / "events");
  write_file(folder / "events.json",
             R"({"loss": [[50, 0.5], [100, 1.0], [110, 0.25], [120, "Infinity"]],
                 "top1": [[110, "NaN"]]})");
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() == 2 && arguments[0] == "write") {
    write_samples(arguments[1]);
  } else if (arguments.size() == 2 && arguments[0] == "list") {
    const SafetensorsFile file(arguments[1]);
    std::cout << described(file.read_all(), file.metadata()).dump() << "\n";
  } else {
    fail_usage("usage: reader_samples write DIR | list FILE");
  }
  return 0;
}

}  // namespace
}  // namespace toroid

int main(int argc, char** argv) {
  try {
    return toroid::run({argv + 1, argv + argc});
  } catch (const toroid::Error& error) {
    std::cerr << "error: " << error.what() << "\n";
    return static_cast<int>(error.status());
  }
}
