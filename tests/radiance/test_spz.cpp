// Gaussians as SPZ: what is written is read back within the steps of its numbers, and damaged or foreign files are refused.
// ctest: sanitized
#include <gtest/gtest.h>
#include <zlib.h>

#include <cmath>
#include <functional>

#include "harness/records/refused.h"
#include "labs/radiance/splat/splat_file.h"
#include "labs/radiance/splat/spz.h"
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

TEST_F(Spz, NotesIgnoredParts) {
  load(gzip_of(one_gaussian(3, 0, 12, 1)));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("antialiasing"), std::string::npos);
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
  for (const uint32_t version : {0U, 1U, 4U, 77U})
    expect_refused(gzip_of(one_gaussian(version)),
                   fmt::format("has version {} of SPZ; klab reads 2 and 3", version));
  expect_refused(one_gaussian(4), "has version 4 of SPZ; klab reads 2 and 3");  // no gzip stream from 4 on
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
