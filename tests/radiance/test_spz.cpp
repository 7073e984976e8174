// Gaussians as SPZ: what is written is read back within the steps of its numbers, and damaged or foreign files are refused.
// ctest: sanitized
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <functional>

#include "harness/records/refused.h"
#include "labs/radiance/splat/splat_file.h"
#include "labs/radiance/splat/spz.h"
#include "labs/radiance/splat/zstd_stream.h"
#include "tests/radiance/colmap_folder.h"
#include "tests/radiance/varied_gaussians.h"

namespace klab {
namespace {

const WorldPlace kTurnedPlace{.scale = 0.25F,
                              .offset = {0.5F, 0.25F, 0.75F},
                              .turn = {0.36F, 0.48F, -0.8F, -0.8F, 0.6F, 0, 0.48F, 0.64F, 0.6F},
                              .origin = {1000, -2000, 30}};

std::string gzip_of(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, uLong(bytes.size())) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = uInt(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = uInt(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

/// One Gaussian of degree 0, with a header that tests change.
std::string one_gaussian(uint32_t version, uint8_t degree = 0, uint8_t fraction = 12, uint8_t flags = 0) {
  Binary b;
  b.add(uint32_t{0x5053474E})
      .add(version)
      .add(uint32_t{1})
      .add(degree)
      .add(fraction)
      .add(flags)
      .add(uint8_t{0});
  for (const int fixed : {4096, -8192, 2048})  // 1, -2, 0.5
    for (int k = 0; k < 3; ++k) b.add(uint8_t(uint32_t(fixed) >> (8 * k)));
  b.add(uint8_t{51});  // opacity 0.2
  for (const int color : {128, 166, 0}) b.add(uint8_t(color));
  for (const int scale : {160, 80, 144}) b.add(uint8_t(scale));  // logarithms 0, -5, -1
  if (version == 3) {
    b.add(uint32_t{3U << 30 | 1U << 29 | 511U << 20});  // w is largest; x is -sqrt(1/2), y and z are 0
  } else {
    for (const int part : {255, 128, 127}) b.add(uint8_t(part));  // x is 1
  }
  return b.bytes;
}

/// A Zstandard stream of one uncompressed block, written by the format's description (RFC 8878) alone: of at most 255 bytes.
std::string zstd_of_one_block(const std::string& bytes) {
  Binary b;
  b.add(uint32_t{0xFD2FB528})
      .add(uint8_t{0x20})
      .add(uint8_t(bytes.size()));                          // one segment; its size in one byte
  const uint32_t block = 1U | uint32_t(bytes.size()) << 3;  // the last; raw
  for (int k = 0; k < 3; ++k) b.add(uint8_t(block >> (8 * k)));
  return b.bytes + bytes;
}

/// The same Gaussian in version 4, with extensions and streams that tests change.
struct Version4 {
  std::string header = one_gaussian(3).substr(0, 12), extensions;
  std::vector<std::string> streams;
  uint8_t flags = 0;

  Version4() {
    header[4] = 4;
    const std::string all = one_gaussian(3).substr(16);
    size_t at = 0;
    for (const size_t size : {9UL, 1UL, 3UL, 3UL, 4UL}) streams.push_back(all.substr(at, size)), at += size;
  }
  std::string bytes() const {
    Binary b;
    const auto table = uint32_t(32 + extensions.size());
    b.add(uint8_t{0}).add(uint8_t{12}).add(flags).add(uint8_t(streams.size())).add(table);
    for (int k = 0; k < 3; ++k) b.add(uint32_t{0});
    Binary places;
    std::string packed;
    for (const std::string& stream : streams) {
      places.add(uint64_t(zstd_of_one_block(stream).size())).add(uint64_t(stream.size()));
      packed += zstd_of_one_block(stream);
    }
    return header + b.bytes + extensions + places.bytes + packed;
  }
};

std::string extension(uint32_t type, const std::string& bytes) {
  Binary b;
  b.add(type).add(uint32_t(bytes.size()));
  return b.bytes + bytes;
}

class Spz : public WrittenFolder {
 protected:
  GaussianSet load(const std::string& bytes) {
    write_text(path / "x.spz", bytes);
    notes.clear();
    return load_gaussians(path / "x.spz", {}, &notes);
  }
  void expect_refused(const std::string& bytes, const std::string& words) {
    try {
      load(bytes);
      ADD_FAILURE() << "was read, not refused: " << words;
    } catch (const Refused& refused) {
      EXPECT_TRUE(refused.complete()) << refused.what();
      EXPECT_NE(std::string(refused.what()).find(words), std::string::npos) << refused.what();
    }
  }
  std::vector<std::string> notes;
};

/// Positions have steps of 2^-f, coefficients above degree 0 of 1/128, of degree 0 of 1/38.25, logarithms of scales of
/// 1/16, opacities of 1/255; a rotation's three stored parts of sqrt(1/2)/511, half of which is the error each.
TEST_F(Spz, RoundTripsWithinItsSteps) {
  for (const int degree : {0, 1, 3}) {
    const GaussianSet set = varied_set(70, degree);
    save_gaussians(path / "x.spz", set, kTurnedPlace);
    const GaussianSet back = load_gaussians(path / "x.spz", kTurnedPlace);
    ASSERT_EQ(back.n, 70);
    ASSERT_EQ(back.degree, degree);
    const auto size = size_t(70);
    for (size_t i = 0; i < size; ++i) {
      for (size_t k = 0; k < 3; ++k) {
        ASSERT_NEAR(back.position[k * size + i], set.position[k * size + i], 1e-5);
        ASSERT_NEAR(back.log_scale[k * size + i], set.log_scale[k * size + i], 1.0 / 32 + 1e-4);
        ASSERT_NEAR(back.coefficients[k * size + i], set.coefficients[k * size + i], 0.5 / 38.25 + 1e-4);
      }
      const auto opacity = [&](const GaussianSet& of) { return 1 / (1 + std::exp(-of.opacity_raw[i])); };
      ASSERT_NEAR(opacity(back), opacity(set), 0.5 / 255 + 1e-4);
      float product = 0, squares = 0;
      for (size_t k = 0; k < 4; ++k) {
        const float q = set.quaternion[k * size + i];
        product += q * back.quaternion[k * size + i], squares += q * q;
      }
      // The cosine of half the angle between them: 1 - d²/2 for a distance d on the sphere of quaternions, and the part
      // left out is wrong by at most as much as the three others together.
      const double step = 0.5 * std::sqrt(0.5) / 511, distance = std::sqrt(3.0 + 9.0) * step;
      ASSERT_GT(std::abs(product) / std::sqrt(squares), 1 - distance * distance / 2 - 1e-6);
      // A rotation of the world mixes the functions of a degree without making them longer.
      double squared = 0;
      for (size_t f = 3; f < set.coefficients.size() / size; ++f)
        squared += std::pow(double(back.coefficients[f * size + i]) - set.coefficients[f * size + i], 2);
      const auto above = double(set.coefficients.size() / size - 3);
      ASSERT_LE(squared, above * std::pow(0.5 / 128, 2) + 1e-6);
    }
  }
}

TEST_F(Spz, ReadsBothVersions) {
  for (const uint32_t version : {2U, 3U}) {
    const GaussianSet set = load(gzip_of(one_gaussian(version)));
    ASSERT_EQ(set.n, 1);
    EXPECT_FLOAT_EQ(set.position[0], 1);
    EXPECT_FLOAT_EQ(set.position[1], 2) << "half a turn about x: y is the other way around";
    EXPECT_FLOAT_EQ(set.position[2], -0.5F);
    EXPECT_NEAR(set.log_scale[0], 0, 1e-6);
    EXPECT_NEAR(set.log_scale[1], -5, 1e-6);
    EXPECT_NEAR(1 / (1 + std::exp(-set.opacity_raw[0])), 0.2, 1e-6);
    EXPECT_NEAR(set.coefficients[1], (166 - 127.5) / 38.25, 1e-5);
    // Half a turn about x, (0,1,0,0), times the file's rotation (w,x,0,0).
    const float x = version == 3 ? -std::sqrt(0.5F) : 1, w = version == 3 ? std::sqrt(0.5F) : 0;
    const float product = set.quaternion[0] * -x + set.quaternion[1] * w;
    EXPECT_NEAR(std::abs(product), 1, 1e-4);
  }
}

TEST_F(Spz, WithoutLibzstdVersion4NamesThePackage) {
  if (has_zstd()) GTEST_SKIP() << "klab was built with libzstd";
  expect_refused(Version4().bytes(),
                 "built without libzstd-dev: install it (sudo apt-get install libzstd-dev)");
  EXPECT_THROW(save_gaussians(path / "y.spz", varied_set(2, 0), {}, nullptr, 4), Refused);
  EXPECT_FALSE(std::filesystem::exists(path / "y.spz"));
}

TEST_F(Spz, ReadsVersion4AsVersion3) {
  if (!has_zstd()) GTEST_SKIP() << "klab was built without libzstd-dev";
  const GaussianSet a = load(gzip_of(one_gaussian(3))), b = load(Version4().bytes());
  EXPECT_EQ(b.position, a.position);
  EXPECT_EQ(b.log_scale, a.log_scale);
  EXPECT_EQ(b.quaternion, a.quaternion);
  EXPECT_EQ(b.opacity_raw, a.opacity_raw);
  EXPECT_EQ(b.coefficients, a.coefficients);
  EXPECT_TRUE(notes.empty());
  for (const int degree : {0, 1, 3}) {
    const GaussianSet set = varied_set(70, degree);
    save_gaussians(path / "3.spz", set, kTurnedPlace);
    save_gaussians(path / "4.spz", set, kTurnedPlace, nullptr, 4);
    const GaussianSet three = load_gaussians(path / "3.spz", kTurnedPlace),
                      four = load_gaussians(path / "4.spz", kTurnedPlace);
    EXPECT_EQ(four.degree, degree);
    EXPECT_EQ(four.position, three.position);
    EXPECT_EQ(four.coefficients, three.coefficients);
    EXPECT_EQ(four.quaternion, three.quaternion);
  }
}

TEST_F(Spz, PassesOverExtensionsOfVersion4) {
  if (!has_zstd()) GTEST_SKIP() << "klab was built without libzstd-dev";
  Version4 file;
  file.flags = 2;
  file.extensions =
      extension(0xADBE0002, std::string(12, '\0')) + extension(0xADBE0003, std::string("\4\0\0\0", 4));
  EXPECT_EQ(load(file.bytes()).n, 1);
  ASSERT_EQ(notes.size(), 1U) << "the axes are those of SPZ";
  EXPECT_NE(notes[0].find("type 0xadbe0002, 12 bytes"), std::string::npos) << notes[0];
  file.extensions = extension(0xADBE0003, std::string("\6\0\0\0", 4));
  expect_refused(file.bytes(), "has axes of its own (coordinate system 6)");
  file.extensions = extension(7, "abcd").substr(0, 10);
  expect_refused(file.bytes(), "has an extension of 4 bytes where 2 are left");
  file.extensions = "abc";
  expect_refused(file.bytes(), "an extension that is cut short");
}

TEST_F(Spz, RefusesDamagedFilesOfVersion4) {
  if (!has_zstd()) GTEST_SKIP() << "klab was built without libzstd-dev";
  const std::string whole = Version4().bytes();
  for (const size_t length : {20UL, 31UL}) expect_refused(whole.substr(0, length), "is cut short");
  expect_refused(whole.substr(0, 60), "has a table of streams at byte 32 of 60");
  expect_refused(whole.substr(0, whole.size() - 1), "stream 5 ends behind the file");
  expect_refused(whole + "x", "holds more bytes");
  std::string damaged = whole;
  damaged[32 + 5 * 16] = 'x';  // the magic number of the first stream
  expect_refused(damaged, "stream 1 is no whole Zstandard stream");
  Version4 file;
  file.streams.pop_back();
  expect_refused(file.bytes(), "has 4 streams; Gaussians of degree 0 have 5");
  file = {};
  file.streams[1] = "ab";
  expect_refused(file.bytes(), "announces 2 bytes in stream 2, where 1 belong");
}

TEST_F(Spz, KeepsAntialiasing) {
  EXPECT_TRUE(load(gzip_of(one_gaussian(3, 0, 12, 1))).antialiased);
  EXPECT_FALSE(load(gzip_of(one_gaussian(3))).antialiased);
  EXPECT_TRUE(notes.empty());
  GaussianSet set = random_gaussians(3, 1, 1);
  for (const int version : {3, 4}) {
    if (version == 4 && !has_zstd()) continue;
    for (const bool antialiased : {false, true}) {
      set.antialiased = antialiased;
      save_gaussians(path / "y.spz", set, {}, nullptr, version);
      EXPECT_EQ(load_gaussians(path / "y.spz", {}).antialiased, antialiased) << version;
    }
  }
}

TEST_F(Spz, RefusesForeignAndDamagedFiles) {
  const std::string whole = gzip_of(one_gaussian(3));
  expect_refused("", "is cut short");
  expect_refused("ply\nformat", "is no gzip stream");
  for (const size_t length : {12UL, whole.size() / 2, whole.size() - 9})
    expect_refused(whole.substr(0, length), "is cut short");
  expect_refused(gzip_of(one_gaussian(3).substr(0, 30)), "is cut short: its bytes end 6 too early");
  expect_refused(gzip_of(one_gaussian(3) + "x"), "holds more bytes");
  expect_refused(gzip_of("NGSQ" + one_gaussian(3).substr(4)), "magic number");
  for (const uint32_t version : {0U, 1U, 5U, 77U})
    expect_refused(gzip_of(one_gaussian(version)),
                   fmt::format("has version {} of SPZ; klab reads 2 to 4", version));
  expect_refused(gzip_of(one_gaussian(4)), "is a gzip stream of version 4");
  expect_refused(one_gaussian(5), "has version 5 of SPZ; klab reads 2 to 4");  // no gzip stream from 4 on
  expect_refused(one_gaussian(3), "is no gzip stream");
  expect_refused(gzip_of(one_gaussian(3, 4)), "harmonics of degree 4");
  expect_refused(gzip_of(one_gaussian(3, 0, 24)), "24 fractional bits");
  expect_refused(gzip_of(one_gaussian(3, 0, 12, 2)), "has extensions");
  std::string many = one_gaussian(3);
  many.replace(8, 4, std::string("\0\0\0\x7F", 4));
  expect_refused(gzip_of(many), "announces 2130706432 Gaussians");
  many.replace(8, 4, std::string(4, '\0'));
  expect_refused(gzip_of(many), "has no Gaussians");
  std::string damaged = whole;
  damaged[damaged.size() - 3] = char(damaged[damaged.size() - 3] ^ 1);  // of the length behind the data
  expect_refused(damaged, "damaged");
}

TEST_F(Spz, RefusesToWriteWhatItCannotHold) {
  GaussianSet set = varied_set(2, 0);
  set.position[0] = 1e8F;
  EXPECT_THROW(save_gaussians(path / "y.spz", set, {}), std::runtime_error);
  set.position[0] = 0;
  set.opacity_raw[0] = NAN;
  EXPECT_THROW(save_gaussians(path / "y.spz", set, {}), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(path / "y.spz"));
}

}  // namespace
}  // namespace klab
