#include "toroid/data/prepare/idx.h"

#include <zlib.h>

#include "toroid/base/file.h"
#include "toroid/base/testing.h"

namespace toroid {
namespace {

const std::string kLabels("\0\0\x08\x01\0\0\0\x03\x07\x00\x09", 11);
const std::string kImages(
    "\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x03"
    "abcdef",
    22);

std::string gzip(const std::string& bytes) {
  z_stream stream{};
  ::deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(::deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

class IdxTest : public testing::Test {
 protected:
  IdxFile read(const std::string& bytes, int dimensions) const {
    write_file(folder_ / "a.idx", bytes);
    return read_idx(folder_ / "a.idx", dimensions);
  }
  const TemporaryFolder folder_;
};

TEST_F(IdxTest, LiteralFilesAreRead) {
  EXPECT_EQ(read(kLabels, 1).elements, std::string("\x07\x00\x09", 3));
  const IdxFile images = read(kImages, 3);
  EXPECT_EQ(images.sizes, (std::vector<std::int64_t>{2, 1, 3}));
  EXPECT_EQ(images.elements, "abcdef");
}

TEST_F(IdxTest, GzipIsReadAlsoInSeveralMembers) {
  EXPECT_EQ(read(gzip(kImages), 3).elements, "abcdef");
  EXPECT_EQ(read(gzip(kImages.substr(0, 9)) + gzip(kImages.substr(9)), 3).elements, "abcdef");
  std::string large("\0\0\x08\x01\0\x40\0\0", 8);  // 4 MiB that compress to a few kB
  large.resize(8 + (std::size_t{1} << 22), 'x');
  EXPECT_EQ(read(gzip(large), 1).elements.size(), std::size_t{1} << 22);
}

TEST_F(IdxTest, CutOffFilesAreNamed) {
  const std::string packed = gzip(kImages);
  for (std::size_t size = 2; size < packed.size(); ++size) {
    EXPECT_ERROR(read(packed.substr(0, size), 3), "a.idx: the gzip file is cut off after");
  }
  for (std::size_t size = 0; size < 16; ++size) {
    EXPECT_ERROR(read(kImages.substr(0, size), 3), "a.idx: is cut off: an IDX file has 16 header");
  }
  EXPECT_ERROR(read(kImages.substr(0, 20), 3), "should hold 6 bytes after its header, but holds 4");
  EXPECT_ERROR(read(kImages + "g", 3), "should hold 6 bytes after its header, but holds 7");
}

TEST_F(IdxTest, DamagedGzipIsNamed) {
  std::string packed = gzip(kImages);
  packed[packed.size() - 6] ^= 1;  // in the CRC
  EXPECT_ERROR(read(packed, 3), "a.idx: the gzip file is damaged (incorrect data check)");
  EXPECT_ERROR(read(gzip(kImages) + "junk", 3), "a.idx: the gzip file is damaged");
}

TEST_F(IdxTest, AnotherMagicIsShown) {
  EXPECT_ERROR(read(kLabels, 3),
               "begins with 00000801, but an IDX file of pictures begins with "
               "00000803; are pictures and labels swapped?");
  EXPECT_ERROR(read("<html>.............", 1), "begins with 3c68746d, but an IDX file of labels");
}

TEST_F(IdxTest, SizesThatOverflowAreRefused) {
  std::string bytes("\0\0\x08\x03", 4);
  bytes.append(12, '\xff');
  EXPECT_ERROR(read(bytes, 3), "claims more elements than fit in 64 bits");
}

}  // namespace
}  // namespace toroid
