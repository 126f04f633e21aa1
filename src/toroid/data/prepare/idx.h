// IDX files, the format of MNIST: u32 big-endian magic 0x000008DD (u8 elements, DD dimensions), DD
// u32 big-endian sizes, then the elements, last dimension fastest. Plain or gzipped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace toroid {

struct IdxFile {
  std::vector<std::int64_t> sizes;
  std::string elements;  ///< u8, as many as the product of the sizes
};

/// Reads the file; gzip is recognised by its first bytes, also in several members. Errors name the
/// file: another magic, another number of dimensions than `dimensions`, a cut-off or too long file.
IdxFile read_idx(const std::filesystem::path& path, int dimensions);

}  // namespace toroid
