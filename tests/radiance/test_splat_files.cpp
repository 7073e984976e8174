// Gaussians that start at points, that rotate with their world, that round-trip through .splat, and that do
// not learn masked pixels.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "labs/radiance/evaluate/evaluate.h"
#include "labs/radiance/splat/ply.h"
#include "labs/radiance/splat/splat_file.h"
#include "labs/radiance/splat/start_points.h"
#include "labs/radiance/splat/trainer.h"
#include "tests/radiance/colmap_folder.h"

namespace klab {
namespace {

using SplatFiles = WrittenFolder;

Plan first_plan(int64_t n, int degree, int width, int height) {
  static CallTimes times({}, [](const auto&, const auto&, auto variants) -> CallTimes::Measured {
    std::vector<double> seconds;
    for (size_t i = 0; i < variants.size(); ++i) seconds.push_back(1.0 / double(i + 1));
    return seconds;
  });
  return Plan::named("best", splat_training_calls(n, degree, width, height), times);
}

GaussianSet colorful(int64_t n, int degree) {
  GaussianSet set = random_gaussians(n, degree, 3);
  for (size_t i = 0; i < set.coefficients.size(); ++i) set.coefficients[i] = 0.4F * std::sin(float(i));
  for (size_t i = 0; i < size_t(n); ++i) {
    set.opacity_raw[i] = 0.3F * float(i % 7) - 1;
    set.log_scale[i] += 0.1F * float(i % 5);
  }
  return set;
}

const WorldPlace kPlace{.scale = 0.25F,
                        .offset = {0.5F, 0.25F, 0.75F},
                        .turn = {0.36F, 0.48F, -0.8F, -0.8F, 0.6F, 0, 0.48F, 0.64F, 0.6F}};

std::vector<float> drawn(const GaussianSet& set, const Camera& camera) {
  Painter painter(first_plan(set.n, set.degree, camera.width, camera.height));
  const float black[3] = {0, 0, 0};
  painter.draw(set, set.degree, camera, black);
  return painter.image();
}

/// A camera that moves with the world sees the same picture, colors that turn with the view among it.
TEST_F(SplatFiles, RotatesTheWholeWorld) {
  const GaussianSet grid = colorful(60, 3);
  // Only a turn about the unit cube's middle here: sizes stay as gs_project's near plane and low-pass have them.
  WorldPlace place{.scale = 1, .offset = {}, .turn = kPlace.turn};
  const Camera camera = look_at({2, -0.6F, 1.1F}, {0.5F, 0.5F, 0.5F}, 48, 40, 0.7F);
  Camera turned = camera;
  for (int k = 0; k < 4; ++k) {
    const auto column = size_t(k);
    const float x = camera.pose[column], y = camera.pose[4 + column], z = camera.pose[8 + column];
    for (size_t r = 0; r < 3; ++r)  // the turn undone
      turned.pose[4 * r + column] = place.turn[r] * x + place.turn[3 + r] * y + place.turn[6 + r] * z;
  }
  const std::vector<float> before = drawn(grid, camera), after = drawn(in_world(grid, place), turned);
  double most = 0, contrast = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    most = std::max(most, double(std::abs(before[i] - after[i])));
    contrast = std::max(contrast, double(before[i]));
  }
  EXPECT_GT(contrast, 0.3) << "something is to be seen";
  EXPECT_LT(most, 2e-3);
  GaussianSet back = in_grid(in_world(grid, kPlace), kPlace), whole = grid;
  for (size_t k = 0; k < GaussianSet::kTensors; ++k)
    for (size_t i = 0; i < whole.tensors()[k]->size(); ++i)
      ASSERT_NEAR((*back.tensors()[k])[i], (*whole.tensors()[k])[i], 1e-5) << k << " " << i;
}

TEST_F(SplatFiles, SplatsRoundTripWithinByteAccuracy) {
  const GaussianSet set = colorful(50, 1);
  save_splat(path / "x.splat", set, kPlace);
  EXPECT_EQ(fs::file_size(path / "x.splat"), 50U * 32);
  const GaussianSet back = load_gaussians(path / "x.splat", kPlace);
  ASSERT_EQ(back.n, 50);
  EXPECT_EQ(back.degree, 0);
  double last = 1e30;
  for (int64_t i = 0; i < 50; ++i) {
    // Files are sorted: who was it?
    int64_t was = -1;
    for (int64_t j = 0; j < 50; ++j)
      if (std::abs(set.position[size_t(j)] - back.position[size_t(i)]) < 1e-5) was = j;
    ASSERT_GE(was, 0);
    double volume = 0;
    for (int64_t k = 0; k < 3; ++k) {
      const auto a = size_t(50 * k + was), b = size_t(50 * k + i);
      EXPECT_NEAR(back.position[b], set.position[a], 1e-5);
      EXPECT_NEAR(back.log_scale[b], set.log_scale[a], 1e-4);
      EXPECT_NEAR(back.coefficients[b], set.coefficients[a], 0.51 / 255 / 0.282);
      volume += set.log_scale[a];
    }
    const auto opacity = [](float raw) { return 1 / (1 + std::exp(-raw)); };
    EXPECT_NEAR(opacity(back.opacity_raw[size_t(i)]), opacity(set.opacity_raw[size_t(was)]), 0.51 / 255);
    double dot = 0, p = 0, q = 0;
    for (int64_t k = 0; k < 4; ++k) {
      const double a = set.quaternion[size_t(50 * k + was)], b = back.quaternion[size_t(50 * k + i)];
      dot += a * b, p += a * a, q += b * b;
    }
    EXPECT_GT(std::abs(dot) / std::sqrt(p * q), 0.9997);
    const double weight = std::exp(volume) * opacity(set.opacity_raw[size_t(was)]);
    EXPECT_LE(weight, last * 1.0001) << "largest first";
    last = weight;
  }
}

TEST_F(SplatFiles, NamesInvalidSplats) {
  const fs::path file = path / "x.splat";
  save_splat(file, colorful(3, 0), {});
  std::ifstream in(file, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  const auto message = [&](const std::string& content) -> std::string {
    write_text(file, content);
    try {
      load_gaussians(file, {});
    } catch (const std::runtime_error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message(whole), "");
  EXPECT_NE(message("").find("has 0 bytes"), std::string::npos);
  EXPECT_NE(message(whole.substr(0, 65)).find("has 65 bytes"), std::string::npos);
  const auto with = [&](size_t at, float value) {
    std::string changed = whole;
    std::memcpy(changed.data() + at, &value, sizeof value);
    return message(changed);
  };
  EXPECT_NE(with(32, NAN).find("the place of Gaussian 1 is nan"), std::string::npos) << with(32, NAN);
  EXPECT_NE(with(44, 0).find("the scale of Gaussian 1"), std::string::npos);
  EXPECT_NE(with(44, INFINITY).find("the scale of Gaussian 1"), std::string::npos);
  std::string changed = whole;
  changed.replace(60, 4, "\x80\x80\x80\x80");
  EXPECT_NE(message(changed).find("the rotation of Gaussian 1"), std::string::npos) << message(changed);
}

TEST_F(SplatFiles, ThreeNearestMatchAnExhaustiveSearch) {
  std::vector<Vec3> points;
  GaussianSet places = random_gaussians(700, 0, 5);
  for (size_t i = 0; i < 700; ++i)  // some in one place
    points.push_back(
        {places.position[i % 690], places.position[700 + i % 690], places.position[1400 + i % 690]});
  const std::vector<float> found = mean_distance_to_three(points);
  for (size_t i = 0; i < points.size(); ++i) {
    std::vector<float> all;
    for (size_t j = 0; j < points.size(); ++j)
      if (j != i) all.push_back(length(points[j] - points[i]));
    std::nth_element(all.begin(), all.begin() + 3, all.end());
    std::sort(all.begin(), all.begin() + 3);
    ASSERT_NEAR(found[i], (all[0] + all[1] + all[2]) / 3, 1e-5) << i;
  }
  EXPECT_EQ(mean_distance_to_three(std::vector<Vec3>{{1, 2, 3}})[0], 0);
  EXPECT_FLOAT_EQ(mean_distance_to_three(std::vector<Vec3>{{0, 0, 0}, {0, 3, 4}})[1], 5);
}

TEST_F(SplatFiles, PointsBecomeGaussians) {
  std::vector<ScenePoint> points;
  for (int i = 0; i < 100; ++i) points.push_back({{0.01F * float(i), 0.5F, 0.5F}, {uint8_t(i), 128, 255}});
  const GaussianSet all = gaussians_from_points(points, 1000, 1, 1);
  ASSERT_EQ(all.n, 100);
  EXPECT_FLOAT_EQ(all.position[7], 0.07F);
  EXPECT_NEAR(std::exp(all.log_scale[50]), (0.01 + 0.01 + 0.02) / 3, 1e-5);
  EXPECT_NEAR(0.5 + 0.28209479 * all.coefficients[7], 7 / 255.0, 1e-6);
  EXPECT_EQ(all.coefficients[size_t(3 * 100)], 0) << "nothing that turns with the view";
  EXPECT_NEAR(1 / (1 + std::exp(-all.opacity_raw[3])), 0.1, 1e-6);
  const GaussianSet some = gaussians_from_points(points, 30, 0, 1),
                    again = gaussians_from_points(points, 30, 0, 1);
  ASSERT_EQ(some.n, 30);
  EXPECT_EQ(some.position, again.position);
  EXPECT_NE(some.position, gaussians_from_points(points, 30, 0, 2).position);
  for (int64_t i = 1; i < 30; ++i)
    EXPECT_GT(some.position[size_t(i)], some.position[size_t(i - 1)]) << "none twice";
  EXPECT_THROW(gaussians_from_points({}, 30, 0, 1), std::invalid_argument);
}

/// Training does not depend on the colors under a mask.
TEST_F(SplatFiles, DoesNotLearnMaskedPixels) {
  Scene scene = built_in_scene({.downscale = 16});
  scene.test.clear();
  auto counted = std::make_shared<std::vector<int32_t>>();
  for (int i = 0; i < 400; ++i)
    if (i % 20 < 9 || i / 20 < 6) counted->push_back(i);
  for (View& view : scene.train) view.with_ray = counted;
  Scene other = scene;
  for (View& view : other.train)
    for (int i = 0; i < 400; ++i)
      if (i % 20 >= 9 && i / 20 >= 6)
        for (int c = 0; c < 4; ++c) view.image.rgba[size_t(4 * i + c)] = uint8_t(i * 7 + c * 31);
  SplatOptions options{.initial = 200, .degree = 0};
  const auto learned = [&](const Scene& from) {
    SplatTrainer trainer(from, options, first_plan(200, 0, 20, 20), 1);
    for (int k = 0; k < 30; ++k) trainer.step(double(k) / 30);
    return trainer.set().position;
  };
  EXPECT_EQ(learned(scene), learned(other));
  for (View& view : other.train) view.with_ray = nullptr;
  EXPECT_NE(learned(scene), learned(other)) << "a check that cannot fail";
}

/// Scores are those of the pixels that count: pixels under a mask are ignored, and the others weigh as much
/// as without it.
TEST_F(SplatFiles, ScoresIgnoreMaskedPixels) {
  std::vector<View> views = {built_in_scene({.downscale = 10}).train[4]};
  const int side = views[0].image.width;
  auto counted = std::make_shared<std::vector<int32_t>>();
  for (int i = 0; i < side * side; ++i)
    if (i % side < side / 2) counted->push_back(i);
  views[0].with_ray = counted;
  const std::vector<float> truth = ground_truth(views[0], false);
  const auto drawn = [&](float beside, float under) {
    return [&truth, side, beside, under](const Camera&) {
      Picture picture{.width = side, .height = side, .rgb = truth, .opacity = {}, .depth = {}};
      for (size_t i = 0; i < truth.size(); ++i) {
        const float off = int(i / 3) % side < side / 2 ? beside : under;
        picture.rgb[i] += truth[i] > 0.5F ? -off : off;
      }
      return picture;
    };
  };
  const Score whole = evaluate(drawn(0, 0.4F), false, views);
  EXPECT_TRUE(std::isinf(whole.psnr));
  EXPECT_NEAR(whole.ssim, 1, 1e-12);
  const Score off = evaluate(drawn(0.1F, 0.4F), false, views);
  EXPECT_NEAR(off.psnr, 20, 0.2) << "a tenth everywhere that counts";
  EXPECT_LT(off.ssim, 0.98);
  EXPECT_NE(off.protocol.find("behind a mask, up to 50.0 %"), std::string::npos) << off.protocol;
  views[0].with_ray = nullptr;
  EXPECT_LT(evaluate(drawn(0, 0.4F), false, views).psnr, 12) << "a check that cannot fail";
}

}  // namespace
}  // namespace klab
