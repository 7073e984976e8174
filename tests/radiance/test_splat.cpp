// Gaussians as files, as sets that grow and shrink, and as a scene that is learned.
// ctest: sanitized-ops
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/splat/gaussian_field.h"
#include "labs/radiance/splat/ply.h"
#include "labs/radiance/splat/trainer.h"
#include "tests/core/temp_folder.h"

namespace klab {
namespace {

namespace fs = std::filesystem;

class Ply : public testing::Test {
 protected:
  std::string text() const {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& content) const { std::ofstream(file, std::ios::binary) << content; }
  /// Returns the error of loading; "" if there is none.
  std::string error() const {
    try {
      load_ply(file, {});
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  }
  /// Writes the file with one part of it replaced, and returns the error of loading it.
  std::string error_with(const std::string& part, const std::string& other) const {
    save_ply(file, random_gaussians(3, 1, 1), {});
    std::string content = text();
    const size_t at = content.find(part);
    EXPECT_NE(at, std::string::npos) << part;
    write(content.replace(at, part.size(), other));
    return error();
  }

  const TempFolder own;
  const fs::path file = own / "set.ply";
};

TEST_F(Ply, RoundTrips) {
  for (int degree = 0; degree <= 3; ++degree) {
    GaussianSet set = random_gaussians(50, degree, 3);
    for (size_t i = 0; i < set.coefficients.size(); ++i) set.coefficients[i] = float(i) / 64;
    const WorldPlace place{.scale = 0.25F, .offset = {0.5F, 0.25F, 0.75F}};
    save_ply(file, set, place);
    GaussianSet back = load_ply(file, place);
    ASSERT_EQ(back.n, set.n);
    EXPECT_EQ(back.degree, 3);  // zeros above the learned degrees
    for (size_t i = 0; i < set.coefficients.size(); ++i) EXPECT_EQ(back.coefficients[i], set.coefficients[i]);
    for (size_t i = set.coefficients.size(); i < back.coefficients.size(); ++i)
      EXPECT_EQ(back.coefficients[i], 0);
    EXPECT_EQ(back.quaternion, set.quaternion);
    EXPECT_EQ(back.opacity_raw, set.opacity_raw);
    for (size_t i = 0; i < set.position.size(); ++i) {
      EXPECT_NEAR(back.position[i], set.position[i], 1e-6);
      EXPECT_NEAR(back.log_scale[i], set.log_scale[i], 1e-6);
    }
  }
}

/// The fields that the reference program's reader and viewers need, in its order: 62 floats.
TEST_F(Ply, HasTheFieldsOfTheReferenceFormat) {
  GaussianSet set = random_gaussians(2, 3, 1);
  for (int64_t k = 0; k < 16; ++k)
    for (int64_t c = 0; c < 3; ++c) set.coefficients[size_t((3 * k + c) * 2 + 1)] = float(100 * c + k);
  save_ply(file, set, {});
  std::string expected = "ply\nformat binary_little_endian 1.0\nelement vertex 2\n";
  for (const char* name : {"x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2"})
    expected += std::string("property float ") + name + "\n";
  for (int k = 0; k < 45; ++k) expected += "property float f_rest_" + std::to_string(k) + "\n";
  for (const char* name : {"opacity", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"})
    expected += std::string("property float ") + name + "\n";
  expected += "end_header\n";
  const std::string content = text();
  ASSERT_EQ(content.substr(0, expected.size()), expected);
  ASSERT_EQ(content.size(), expected.size() + 2 * 62 * sizeof(float));
  float row[62];
  std::memcpy(row, content.data() + expected.size() + sizeof row, sizeof row);
  EXPECT_EQ(row[0], set.position[1]);
  EXPECT_EQ(row[7], 100);       // f_dc_1: green
  EXPECT_EQ(row[9], 1);         // f_rest_0: red, function 1
  EXPECT_EQ(row[9 + 15], 101);  // f_rest_15: green, function 1
  EXPECT_EQ(row[9 + 44], 215);  // f_rest_44: blue, function 15
  EXPECT_EQ(row[54], set.opacity_raw[1]);
  EXPECT_EQ(row[55], set.log_scale[1]);
  EXPECT_EQ(row[58], set.quaternion[1]);
}

TEST_F(Ply, ReadsAnyOrderAndSkipsOtherProperties) {
  std::ostringstream out;
  out << "ply\r\nformat binary_little_endian 1.0\r\ncomment from elsewhere\nelement vertex 1\nproperty uchar "
         "red\n";
  const char* names[] = {"rot_0",   "rot_1",   "rot_2",   "rot_3",  "x",      "y",      "z",
                         "scale_0", "scale_1", "scale_2", "f_dc_0", "f_dc_1", "f_dc_2", "opacity"};
  for (const char* name : names) out << "property float " << name << "\n";
  out << "end_header\n" << '\x7f';
  for (int k = 0; k < 14; ++k) {
    const float value = float(k + 1);
    out.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  write(out.str());
  const GaussianSet set = load_ply(file, {});
  EXPECT_EQ(set.degree, 0);
  EXPECT_EQ(set.position, (std::vector<float>{5, 6, 7}));
  EXPECT_EQ(set.quaternion, (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(set.opacity_raw, (std::vector<float>{14}));
}

TEST_F(Ply, RefusesInvalidFiles) {
  write("not a ply\n");
  EXPECT_NE(error().find("is no .ply file"), std::string::npos) << error();
  EXPECT_NE(error_with("binary_little_endian", "binary_middle").find("has the format 'binary_middle'"),
            std::string::npos);
  EXPECT_NE(error_with("element vertex 3", "element vertex 4").find("announces 4 vertices"),
            std::string::npos);
  EXPECT_NE(error_with("element vertex 3", "element vertex 0").find("number of vertices"), std::string::npos);
  EXPECT_NE(
      error_with("element vertex 3", "element vertex 3\nelement vertex 2").find("'element vertex' twice"),
      std::string::npos);
  EXPECT_NE(error_with("float opacity", "float opaqueness").find("no property 'opacity'"), std::string::npos);
  EXPECT_NE(error_with("float scale_1\n", "int scale_1\n").find("'scale_1' is no float"), std::string::npos);
  EXPECT_NE(error_with("f_rest_44", "f_last_44").find("44 properties f_rest"), std::string::npos);
  EXPECT_NE(error_with("end_header\n", "").find(file.string()), std::string::npos);
  save_ply(file, random_gaussians(3, 1, 1), {});
  std::string content = text();
  write(content.substr(0, content.size() - 1));
  EXPECT_NE(error().find("announces 3 vertices"), std::string::npos) << error();
  const float nan = std::nanf("");
  std::memcpy(content.data() + content.size() - 62 * sizeof(float), &nan, sizeof nan);
  write(content);
  EXPECT_NE(error().find("'x' of vertex 2"), std::string::npos) << error();
  GaussianSet set = random_gaussians(3, 0, 1);
  for (int64_t k = 0; k < 4; ++k) set.quaternion[size_t(3 * k + 1)] = 0;
  save_ply(file, set, {});
  EXPECT_NE(error().find("rotation of vertex 1"), std::string::npos) << error();
  EXPECT_THROW(load_ply(file / "missing", {}), std::runtime_error);
}

TEST(Density, ClonesTheSmallSplitsTheLargeRemovesTheTransparent) {
  GaussianSet set = random_gaussians(4, 1, 1);
  const auto scale = [&](int64_t i, float size) {
    for (int64_t k = 0; k < 3; ++k) set.log_scale[size_t(4 * k + i)] = std::log(size);
  };
  scale(0, 0.001F), scale(1, 0.05F), scale(2, 0.001F), scale(3, 0.001F);
  set.opacity_raw[2] = -9;
  DensityStatistics seen;
  seen.reset(4);
  seen.pull = {0.01F, 0.02F, 0.03F, 1e-6F};
  seen.seen = {2, 2, 2, 2};
  const DensityChange change = change_density(set, seen, {}, 1, 1, false, 1);
  EXPECT_EQ(change.cloned, 1);
  EXPECT_EQ(change.split, 1);
  EXPECT_EQ(change.removed, 1);
  EXPECT_EQ(change.from, (std::vector<int64_t>{0, 1, 3, 0, 1}));
  EXPECT_EQ(change.fresh, (std::vector<uint8_t>{0, 1, 0, 1, 1}));
  ASSERT_EQ(change.set.n, 5);
  EXPECT_EQ(change.set.position[3], set.position[0]);  // a clone
  EXPECT_NE(change.set.position[1], set.position[1]);  // both halves are drawn
  EXPECT_NE(change.set.position[4], change.set.position[1]);
  EXPECT_NEAR(std::exp(change.set.log_scale[4]), 0.05 / 1.6, 1e-6);
  EXPECT_NEAR(std::exp(change.set.log_scale[2]), 0.001, 1e-7);
}

TEST(Gaussians, StartSpreadOverALargeBox) {
  constexpr int64_t n = 2000;
  const GaussianSet small = random_gaussians(n, 0, 1), large = random_gaussians(n, 0, 1, 4);
  int64_t within = 0, beyond = 0;
  for (int64_t i = 0; i < n; ++i) {
    float away = 0;
    for (int64_t axis = 0; axis < 3; ++axis)
      away = std::max(away, std::abs(large.position[size_t(axis * n + i)] - 0.5F));
    EXPECT_LE(away, 2.0F);
    within += away <= 0.5F;
    beyond += away > 1;
    EXPECT_GT(large.log_scale[size_t(i)], small.log_scale[size_t(i)] - 1e-6F)
        << "no closer than in the unit cube";
  }
  EXPECT_NEAR(double(within), n * (1 + 1.0 / 8) / 2, 60) << "every second one, and an eighth of the others";
  EXPECT_GT(beyond, n / 4);
}

TEST(Density, TheLimitHoldsAtTheStartToo) {
  GaussianConfig config;
  config.initial = 800;
  config.most = 500;
  EXPECT_EQ(splat_options(config).initial, 500);
  EXPECT_EQ(splat_options(config).density.most, 500);
  config.budget = 600;  // what to grow to
  EXPECT_EQ(splat_options(config).initial, 600);
}

TEST(Density, RespectsItsLimitAndBudget) {
  GaussianSet set = random_gaussians(100, 0, 1);
  DensityStatistics seen;
  seen.reset(100);
  for (size_t i = 0; i < 100; ++i) seen.pull[i] = 0.01F + float(i), seen.seen[i] = 1;
  DensityOptions options;
  options.most = 130;
  const DensityChange limited = change_density(set, seen, options, 1, 0, false, 1);
  EXPECT_EQ(limited.set.n, 130);
  EXPECT_EQ(*std::min_element(limited.from.begin() + 100, limited.from.end()),
            70);  // the most strongly pulled at
  options.most = 1000;
  options.budget = 200;
  EXPECT_EQ(change_density(set, seen, options, 1, 0.5, false, 1).set.n, 110);
  EXPECT_EQ(change_density(set, seen, options, 1, 1, false, 1).set.n, 200);
  for (float& raw : set.opacity_raw) raw = -9;
  EXPECT_GE(change_density(set, seen, options, 1, 0, false, 1).set.n, 1);  // never none
}

/// A short training on a small scene: better than a white picture by far, the same every time, and as good from its file.
TEST(SplatTraining, LearnsTheBuiltInScene) {
  const Scene scene = built_in_scene({.downscale = 8});
  const Image& first = scene.train.front().image;
  SplatOptions options;
  options.initial = 1500;
  options.degree = 1;
  options.density.most = 3000;
  options.density_every = 50;
  options.density_from = 100;
  options.background = "white";  // the one that is scored: so short a run learns little from many
  const auto calls = splat_training_calls(options.initial, options.degree, first.width, first.height);
  CallTimes times({}, [](const auto&, const auto&, auto variants) -> CallTimes::Measured {
    std::vector<double> seconds;
    for (size_t i = 0; i < variants.size(); ++i) seconds.push_back(1.0 / double(i + 1));
    return seconds;
  });
  const Plan plan = Plan::named("best", calls, times);
  const auto train = [&](int steps) {
    auto trainer = std::make_unique<SplatTrainer>(scene, options, plan, 1);
    for (int k = 0; k < steps; ++k) trainer->step(double(k) / double(steps));
    return trainer;
  };
  const auto trainer = train(400);
  EXPECT_GT(trainer->set().n, options.initial);
  EXPECT_LE(trainer->set().n, options.density.most);
  const auto score_of = [&](const GaussianSet& set) {
    Painter painter(plan);
    const float white[3] = {1, 1, 1};
    const auto render = [&](const Camera& camera) {
      painter.draw(set, set.degree, camera, white);
      return painter.picture();
    };
    return evaluate(render, trainer->black(), scene.test).psnr;
  };
  GaussianSet nothing = random_gaussians(1, 0, 1);
  nothing.opacity_raw[0] = -20;
  const double learned = score_of(trainer->set()), white = score_of(nothing);
  EXPECT_GT(learned, white + 6) << "a white picture has " << white << " dB";
  const auto again = train(120), once_more = train(120);
  EXPECT_EQ(again->set().position, once_more->set().position);
  const TempFolder folder;
  const fs::path file = folder / "set.ply";
  const WorldPlace place{scene.scale, scene.offset};
  save_ply(file, trainer->set(), place);
  EXPECT_NEAR(score_of(load_ply(file, place)), learned, 0.05);
}

// A fog in the sky's color explains pictures of a transparent sky on that color, and on no other.
TEST(SplatBackground, ARandomOneTellsAFogFromTheSky) {
  Scene scene;
  View view;
  view.camera = look_at({0.5F, -1, 0.5F}, {0.5F, 0.5F, 0.5F}, 32, 32, 0.7F);
  view.image = {.width = 32,
                .height = 32,
                .has_alpha = true,
                .extra_bytes = false,
                .rgba = std::vector<uint8_t>(4 * 32 * 32)};
  scene.train = {view, view};
  GaussianSet fog = GaussianSet::zeros(1, 0);
  fog.position = {0.5F, 0.5F, 0.5F};
  fog.log_scale.assign(3, std::log(0.5F));
  fog.quaternion = {1, 0, 0, 0};
  constexpr float kConstant = 0.28209479F;       // the spherical harmonic of degree 0
  fog.coefficients.assign(3, 0.5F / kConstant);  // white
  SplatOptions options;
  options.degree = 0;
  options.density_every = 1000;
  CallTimes times(
      {}, [](const auto&, const auto&, auto variants) { return std::vector<double>(variants.size(), 1); });
  const Plan plan = Plan::named("best", splat_training_calls(1, 0, 32, 32), times);
  const auto train = [&](const char* background, int steps) {
    options.background = background;
    auto trainer = std::make_unique<SplatTrainer>(scene, options, plan, 1, fog);
    for (int i = 0; i < steps; ++i) trainer->step(0.5);
    return trainer;
  };
  EXPECT_FALSE(train("white", 0)->black()) << "pictures with alpha are scored on white";
  EXPECT_GT(train("white", 1)->last_psnr(), 50);
  EXPECT_LT(train("black", 1)->last_psnr(), 10);
  EXPECT_LT(train("random", 1)->last_psnr(), 20);
  const auto trained = train("random", 30);
  EXPECT_LT(trained->set().opacity_raw[0], fog.opacity_raw[0] - 0.5F);
  // The scene says what is meant where nothing else is asked for; the same step has the same color.
  scene.background = "random";
  EXPECT_EQ(train("scene", 30)->set().opacity_raw, trained->set().opacity_raw);
  scene.background = "white";
  EXPECT_EQ(train("scene", 5)->set().opacity_raw, train("white", 5)->set().opacity_raw);
  EXPECT_EQ(built_in_scene({.pictures = SceneOptions::Pictures::none}).background, "random");
}

}  // namespace
}  // namespace klab
