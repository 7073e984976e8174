// Gaussians as SOG: what is written is read back within the steps of its numbers, and damaged or foreign files are refused.
// ctest: sanitized
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/records/refused.h"
#include "labs/radiance/splat/codebook.h"
#include "labs/radiance/splat/sog.h"
#include "labs/radiance/splat/splat_file.h"
#include "labs/radiance/splat/webp_picture.h"
#include "labs/radiance/splat/zip_file.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/colmap_folder.h"
#include "tests/radiance/varied_gaussians.h"

namespace klab {
namespace {

using nlohmann::json;
using ZipFiles = std::map<std::string, std::vector<uint8_t>>;

class Sog : public ::testing::Test {
 protected:
  static std::string refused_sog(const fs::path& at) {
    try {
      load_gaussians(at, {});
    } catch (const Refused& e) {
      EXPECT_TRUE(e.complete()) << e.what();
      return e.field();
    } catch (const std::exception& e) {
      return std::string("no Refused: ") + e.what();
    }
    return "read";
  }
  std::string refused_sog(const ZipFiles& files) const {
    write_zip(folder / "x.sog", {files.begin(), files.end()});
    return refused_sog(folder / "x.sog");
  }
  std::string refused_bytes(const std::string& bytes) const {
    std::ofstream(folder / "x.sog", std::ios::binary) << bytes;
    return refused_sog(folder / "x.sog");
  }

  const TempFolder temp_;
  const fs::path folder = temp_.path();
};

TEST_F(Sog, WithoutLibwebpThePackageIsNamed) {
  if (has_webp()) GTEST_SKIP() << "klab was built with libwebp";
  EXPECT_EQ(refused_bytes("PK"), "libwebp-dev");
  try {
    save_gaussians(folder / "y.sog", varied_set(5, 0), {});
    ADD_FAILURE() << "written";
  } catch (const Refused& e) {
    EXPECT_EQ(e.field(), "libwebp-dev");
  }
  EXPECT_FALSE(fs::exists(folder / "y.sog"));
}

TEST_F(Sog, GaussiansAreReadAsTheyWereWritten) {
  if (!has_webp()) GTEST_SKIP() << "klab was built without libwebp-dev";
  const WorldPlace place{.scale = 0.25F,
                         .offset = {0.5F, 0.25F, 0.75F},
                         .turn = {0.36F, 0.48F, -0.8F, -0.8F, 0.6F, 0, 0.48F, 0.64F, 0.6F},
                         .origin = {}};
  for (const int degree : {0, 1, 3}) {
    constexpr int64_t n = 700;
    const GaussianSet set = varied_set(n, degree), there = in_world(set, place);
    save_gaussians(folder / "a.sog", set, place);
    GaussianSet read = in_world(load_gaussians(folder / "a.sog", place), place);
    ASSERT_EQ(read.n, n);
    ASSERT_EQ(read.degree, degree);
    double moved = 0, scaled = 0, colored = 0, turned = 0, opaque = 0;
    for (int64_t i = 0; i < n; ++i) {
      // They have another order.
      int64_t from = 0;
      double nearest = INFINITY;
      for (int64_t j = 0; j < n; ++j) {
        double away = 0;
        for (int64_t k = 0; k < 3; ++k)
          away += std::pow(
              double(there.position[size_t(k * n + j)]) - double(read.position[size_t(k * n + i)]), 2);
        if (away < nearest) nearest = away, from = j;
      }
      moved = std::max(moved, std::sqrt(nearest));
      const auto off = [&](const std::vector<float>& a, const std::vector<float>& b, int64_t k) {
        return std::abs(double(a[size_t(k * n + from)]) - double(b[size_t(k * n + i)]));
      };
      for (int64_t k = 0; k < 3; ++k) scaled = std::max(scaled, off(there.log_scale, read.log_scale, k));
      for (int64_t k = 0; k < 3 * (degree + 1) * (degree + 1); ++k)
        colored = std::max(colored, off(there.coefficients, read.coefficients, k));
      double same = 0, mine = 0, theirs = 0;
      for (int64_t k = 0; k < 4; ++k) {
        const double a = there.quaternion[size_t(k * n + from)], b = read.quaternion[size_t(k * n + i)];
        same += a * b, mine += a * a, theirs += b * b;
      }
      turned = std::max(turned, 1 - std::abs(same) / std::sqrt(mine * theirs));
      const auto share = [](double raw) { return 1 / (1 + std::exp(-raw)); };
      opaque = std::max(
          opaque, std::abs(share(there.opacity_raw[size_t(from)]) - share(read.opacity_raw[size_t(i)])));
    }
    EXPECT_LT(moved, 3e-4);  // half a step of each axis, and roundings
    EXPECT_LT(scaled, 0.05);
    EXPECT_LT(colored, 0.02);
    EXPECT_LT(turned, 1e-4);
    EXPECT_LT(opaque, 0.6 / 255);
  }
}

TEST_F(Sog, RefusesDamagedAndForeignFiles) {
  if (!has_webp()) GTEST_SKIP() << "klab was built without libwebp-dev";
  save_gaussians(folder / "a.sog", varied_set(30, 1), {});
  std::ifstream in(folder / "a.sog", std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  for (size_t at = 0; at < whole.size(); at += 1 + whole.size() / 40)
    EXPECT_EQ(refused_bytes(whole.substr(0, at)), "zip") << at;
  EXPECT_EQ(refused_bytes(whole), "read");
  const ZipFiles files = read_zip(folder / "a.sog");
  ASSERT_EQ(files.size(), 8U);
  const auto without = [&](const char* name) {
    ZipFiles out = files;
    out.erase(name);
    return out;
  };
  const auto with = [&](const std::function<void(json&)>& change) {
    ZipFiles out = files;
    const std::vector<uint8_t>& text = files.at("meta.json");
    json meta = json::parse(text.begin(), text.end());
    change(meta);
    const std::string changed = meta.dump();
    out["meta.json"].assign(changed.begin(), changed.end());
    return out;
  };
  EXPECT_EQ(refused_sog(with([](json&) {})), "read");
  EXPECT_EQ(refused_sog(without("meta.json")), "meta.json");
  EXPECT_EQ(refused_sog(without("quats.webp")), "files");
  EXPECT_EQ(refused_sog(with([](json& m) { m["version"] = 3; })), "version");
  EXPECT_EQ(refused_sog(with([](json& m) { m.erase("version"); })), "version");
  EXPECT_EQ(refused_sog(with([](json& m) { m["count"] = 0; })), "count");
  EXPECT_EQ(refused_sog(with([](json& m) { m["count"] = 5000; })), "means");
  EXPECT_EQ(refused_sog(with([](json& m) { m["means"]["mins"][1] = 1e9; })), "mins");
  EXPECT_EQ(refused_sog(with([](json& m) { m["scales"]["codebook"].erase(3); })), "codebook");
  EXPECT_EQ(refused_sog(with([](json& m) { m["shN"]["bands"] = 2; })), "bands");
  EXPECT_EQ(refused_sog(with([](json& m) { m["shN"]["count"] = 3; })), "shN");
  EXPECT_EQ(refused_sog(with([](json& m) { m["quats"]["files"][0] = "sh0.webp"; })), "quats");
  ZipFiles odd = files;
  odd["sh0.webp"].resize(odd["sh0.webp"].size() / 2);
  EXPECT_EQ(refused_sog(odd), "sh0");
}

TEST(SogParts, CodebooksKeepFewNumbersAndStandNearMany) {
  const Codebook few = Codebook::of({3, 1, 2, 1});
  for (const float x : {1.0F, 2.0F, 3.0F}) EXPECT_EQ(few.values[few.nearest(x)], x);
  std::vector<float> many;
  for (int i = 0; i < 20000; ++i) many.push_back(std::sin(0.37F * float(i)) * std::exp(-0.0003F * float(i)));
  const Codebook book = Codebook::of(many);
  double squares = 0;
  for (const float x : many) {
    squares += std::pow(double(book.values[book.nearest(x)] - x), 2);
  }
  for (size_t i = 0; i < many.size(); i += 97)
    for (const float other : book.values)
      ASSERT_GE(std::abs(other - many[i]), std::abs(book.values[book.nearest(many[i])] - many[i]));
  EXPECT_LT(std::sqrt(squares / 20000), 2.0 / 256 / std::sqrt(12.0)) << "no better than equal steps";
}

TEST(SogParts, GroupsHoldNearRows) {
  std::vector<float> table;
  for (int i = 0; i < 40; ++i)
    for (int c = 0; c < 3; ++c) table.push_back(float(i % 4 * 10 + c) + 0.01F * float(i));
  const RowGroups groups = grouped_rows(table, 3, 4);
  ASSERT_EQ(groups.count, 4);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(groups.group[size_t(i)], groups.group[size_t(i % 4)]);
    EXPECT_NEAR(groups.means[size_t(3 * groups.group[size_t(i)])], i % 4 * 10 + 0.2, 0.2);
  }
  EXPECT_EQ(grouped_rows(table, 3, 40).group[7], 7);
}

}  // namespace
}  // namespace klab
