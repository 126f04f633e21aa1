// The safetensors file format (docs/formats/safetensors.md): named tensors, readable by
// huggingface's safetensors package and everything that is built on it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "toroid/base/file.h"
#include "toroid/base/tensor.h"

namespace toroid {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

using Metadata = std::map<std::string, std::string>;

/// Where a tensor lies in its file: bytes [begin, end) from the start of the file.
struct SafetensorsEntry {
  std::string name;
  TensorType type;
  std::uint64_t begin = 0, end = 0;
};

/// A safetensors file open for reading. Opening reads and checks the whole header; whatever is
/// wrong is an Error with the path and, where it concerns one, the tensor.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  /// In the order in which they lie in the file.
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  const Metadata& metadata() const { return metadata_; }
  /// The elements of one of entries().
  Tensor read(const SafetensorsEntry& entry) const;
  /// All tensors, in the order of entries().
  std::vector<NamedTensor> read_all() const;

 private:
  InputFile file_;
  std::vector<SafetensorsEntry> entries_;
  Metadata metadata_;
};

/// Publishes the tensors under `path`, complete or not there. They are laid out by falling element
/// size (so that each is aligned to its element), else in the given order. Error for a name that is
/// there twice, is "__metadata__", or is not UTF-8.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors,
                       const Metadata& metadata = {});

}  // namespace toroid
