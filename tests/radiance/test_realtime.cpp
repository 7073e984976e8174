// Plans of pictures in real time: each is as near to its parent as it says, and what it leaves out is what it names.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "labs/21_realtime/train/baked_scene.h"
#include "labs/21_realtime/train/foveation.h"
#include "labs/21_realtime/train/measure.h"
#include "labs/21_realtime/train/reuse.h"
#include "labs/radiance/evaluate/evaluate.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

constexpr int kPixels = 24;

double largest_apart(const Picture& a, const Picture& b) {
  double most = 0;
  for (size_t i = 0; i < a.rgb.size(); ++i)
    most = std::max(most, std::abs(double(a.rgb[i]) - double(b.rgb[i])));
  return most;
}

Camera camera_around(double angle) {
  const Vec3 eye{0.5F + float(std::cos(angle)), 0.5F + float(std::sin(angle)), 1};
  return look_at(eye, {0.5F, 0.5F, 0.4F}, kPixels, kPixels, 0.8F);
}

/// Cameras one degree apart, as klab realtime draws them.
std::vector<Camera> small_path(int frames) {
  std::vector<Camera> cameras;
  for (int i = 0; i < frames; ++i) cameras.push_back(camera_around(0.4 + M_PI / 180 * i));
  return cameras;
}

class Realtime : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    Trainer trainer(small_scene(), small_config(), small_plan(), 2);
    for (int i = 0; i < 150; ++i) trainer.step(i / 150.0);
    model = field_model(trainer.averaged());
    CallTimes times = later_is_faster();
    plans = frame_plans(*model, {.rungs = "last", .cells = 64}, times,
                        [](const std::string& line) { said += line; });
  }
  static void TearDownTestSuite() { plans.clear(), model.reset(); }

  static FramePlan& plan(const std::string& name) {
    return *std::ranges::find_if(plans, [&](const FramePlan& p) { return p.name == name; });
  }
  /// Returns the last picture of a path.
  static Picture last_picture(FramePlan& p, const std::vector<Camera>& cameras) {
    if (p.begin) p.begin();
    Picture out;
    for (const Camera& camera : cameras) out = p.draw(camera);
    return out;
  }

  static std::unique_ptr<FieldModel> model;
  static std::vector<FramePlan> plans;
  static std::string said;
};
std::unique_ptr<FieldModel> Realtime::model;
std::vector<FramePlan> Realtime::plans;
std::string Realtime::said;

TEST_F(Realtime, EachPlanIsAsNearToItsParentAsItSays) {
  ASSERT_EQ(plans.size(), 9U);
  EXPECT_NE(said.find("baking"), std::string::npos);
  const std::vector<Camera> path = small_path(6);
  for (FramePlan& p : plans) {
    EXPECT_FALSE(p.change.empty()) << p.name;
    EXPECT_GT(p.held_bytes, 0) << p.name;
    if (p.parent.empty()) continue;
    const Picture picture = last_picture(p, path), parent = last_picture(plan(p.parent), path);
    const double apart = largest_apart(picture, parent), decibels = psnr(picture.rgb, parent.rgb);
    EXPECT_LE(apart, p.loss.largest) << p.name << " against " << p.parent;
    EXPECT_GE(decibels, p.loss.psnr) << p.name << " against " << p.parent;
    if (p.loss.psnr > 0) EXPECT_GT(apart, 0) << p.name << " gives up nothing: does it do what it says?";
  }
}

TEST_F(Realtime, PicturesShowSomething) {
  const Picture picture = last_picture(plans.front(), small_path(1));
  const auto dark = std::ranges::count_if(picture.rgb, [](float v) { return v < 0.9F; });
  EXPECT_GT(dark, kPixels * kPixels / 4);
}

TEST_F(Realtime, EarlyStopKeepsTheBitsOfRaysThatAreNeverDark) {
  const std::vector<Camera> path = small_path(1);
  const Picture all = last_picture(plan("01_every_sample"), path),
                stopped = last_picture(plan("02_early_stop"), path);
  const auto stop = float(model->as_hash()->config.early_stop);
  int kept = 0;
  for (size_t i = 0; i < all.opacity.size(); ++i) {
    if (1 - all.opacity[i] <= 2 * stop) continue;
    ++kept;
    EXPECT_EQ(all.opacity[i], stopped.opacity[i]) << i;
    for (size_t c = 0; c < 3; ++c) EXPECT_EQ(all.rgb[3 * i + c], stopped.rgb[3 * i + c]) << i;
  }
  EXPECT_GT(kept, 10);
  // The renderer of klab render is the last of these plans.
  Renderer renderer(*model->as_hash(), small_plan("last"));
  EXPECT_LE(largest_apart(renderer.render(path[0]), last_picture(plan("03_empty_space"), path)), 1e-4);
}

TEST_F(Realtime, EarlyStopComputesFewerSamples) {
  const Model& hash = *model->as_hash();
  Renderer all(hash, small_plan()), stopped(hash, small_plan());
  all.stop_at(0);
  all.render(camera_around(0));
  stopped.render(camera_around(0));
  EXPECT_GT(stopped.samples(), 0);
  EXPECT_LT(stopped.samples(), all.samples());
}

/// A renderer's list of pixels gives the pixels that it names, and leaves the others.
TEST_F(Realtime, ListsDrawTheirPixelsOnly) {
  Renderer renderer(*model->as_hash(), small_plan());
  const Camera camera = camera_around(0);
  const Picture whole = renderer.render(camera);
  Picture some = Renderer::empty_picture(camera);
  std::ranges::fill(some.rgb, 7.0F);
  std::vector<uint8_t> marks(size_t(kPixels * kPixels), uint8_t{0});
  for (size_t i = 0; i < marks.size(); i += 3) marks[i] = 1;
  const std::vector<int32_t> list = pixels_by_squares(kPixels, kPixels, marks);
  EXPECT_EQ(list.size(), marks.size() / 3);
  renderer.draw(camera, list, some);
  for (size_t i = 0; i < some.rgb.size(); ++i)
    if (marks[i / 3] != 0)
      EXPECT_NEAR(some.rgb[i], whole.rgb[i], 1e-4) << i;
    else
      EXPECT_EQ(some.rgb[i], 7.0F) << i;
}

TEST(RealtimePixels, SquaresHoldEachPixelOnce) {
  for (const auto& [width, height] : {std::pair{8, 8}, std::pair{13, 21}, std::pair{1, 1}}) {
    std::vector<int32_t> pixels = pixels_by_squares(width, height);
    if (width == 13) EXPECT_EQ(pixels[8], 13);  // the second row of the first square
    std::ranges::sort(pixels);
    EXPECT_EQ(pixels, pixels_by_rows(width, height));
  }
}

TEST_F(Realtime, ReuseOfARestingCameraIsThePictureItself) {
  FramePlan &reuse = plan("08_reuse"), &parent = plan(reuse.parent);
  const Camera camera = camera_around(1);
  const Picture expected = parent.draw(camera);
  if (reuse.begin) reuse.begin();
  for (int frame = 0; frame < 6; ++frame) {
    const Picture picture = reuse.draw(camera);
    EXPECT_LT(largest_apart(picture, expected), 2e-3) << frame;
    if (frame == 0)
      EXPECT_EQ(reuse.computed(), 1);
    else
      EXPECT_LT(reuse.computed(), 0.9) << "nothing is taken over";
  }
}

TEST_F(Realtime, ReuseForgetsAPathAndAnotherSize) {
  FramePlan& reuse = plan("08_reuse");
  last_picture(reuse, small_path(3));
  EXPECT_LT(reuse.computed(), 1);
  Camera larger = camera_around(0);
  larger.width += 8;
  reuse.draw(larger);
  EXPECT_EQ(reuse.computed(), 1);
  reuse.begin();
  reuse.draw(larger);
  EXPECT_EQ(reuse.computed(), 1);
}

/// A source whose pixels are their own coordinates: any interpolation of it is exact.
class Ramp : public PixelSource {
 public:
  void draw(const Camera& camera, std::span<const int32_t> pixels, Picture& out) override {
    for (const int32_t p : pixels) {
      ++drawn;
      const float x = float(p % camera.width), y = float(p / camera.width);
      const float rgb[3] = {x / 64, y / 64, (x + y) / 128};
      std::copy_n(rgb, 3, out.rgb.begin() + 3 * int64_t(p));
      out.opacity[size_t(p)] = 1, out.depth[size_t(p)] = 2;
    }
  }
  int64_t drawn = 0;
};

TEST(RealtimeFovea, KeepsItsBudgetAndInterpolatesTheRest) {
  for (const auto& [width, height] : {std::pair{64, 48}, std::pair{37, 41}})
    for (const double share : {0.12, 0.25, 0.6, 1.0}) {
      const Fovea f = fovea_of(width, height, width / 2.0, height / 3.0, share);
      EXPECT_LE(double(f.computed.size()), share * width * height);
      if (share == 1.0) EXPECT_EQ(f.computed.size(), size_t(width) * size_t(height));
      Ramp ramp;
      Camera camera = camera_around(0);
      camera.width = width, camera.height = height;
      const Picture p = draw_foveated(ramp, camera, f);
      EXPECT_EQ(ramp.drawn, int64_t(f.computed.size()));
      for (int i = 0; i < width * height; ++i) {
        EXPECT_NEAR(p.rgb[size_t(3 * i)], float(i % width) / 64, 1e-6) << i;
        EXPECT_NEAR(p.rgb[size_t(3 * i + 1)], float(i / width) / 64, 1e-6) << i;
        EXPECT_NEAR(p.depth[size_t(i)], 2, 1e-6) << i;
      }
    }
}

TEST_F(Realtime, FoveationIsSharpWhereTheGazeIs) {
  const Camera camera = camera_around(0);
  const Picture whole = plan("07_baked").draw(camera), picture = plan("09_foveated").draw(camera);
  EXPECT_LE(plan("09_foveated").computed(), 0.25);
  const size_t middle = size_t(kPixels / 2 * kPixels + kPixels / 2);
  for (size_t c = 0; c < 3; ++c) EXPECT_NEAR(picture.rgb[3 * middle + c], whole.rgb[3 * middle + c], 1e-5);
}

VoxelModel voxels_to_bake(int64_t degree, const std::string& spacing = "even", int cascades = 1) {
  VoxelConfig config;
  config.first_grid = config.grid = 8;
  config.sh_degree = degree;
  config.spacing = spacing;
  Placement place;
  place.cascades = cascades;
  VoxelModel voxels = VoxelModel::at_first(config, place);
  for (int64_t i = 0; i < voxels.rows(); ++i) voxels.density[i] = 0.01F * float(i % 500) - 1;
  for (int64_t i = 0; i < voxels.coefficients.size(); ++i) voxels.coefficients[i] = std::sin(float(i));
  return voxels;
}

Plan plan_of_baked() {
  CallTimes times = later_is_faster();
  return Plan::named("last", baked_calls(8, 729, 4), times);
}

TEST(RealtimeBaked, RoundsEachNumberToItsNearestByte) {
  for (const int64_t degree : {0, 1}) {
    VoxelModel voxels = voxels_to_bake(degree);
    voxels.occupancy[0] = uint8_t(voxels.occupancy[0] & ~1U);  // the first cell is empty
    const BakedScene scene = baked_scene(voxels, plan_of_baked());
    ASSERT_EQ(scene.rows(), voxels.rows());
    const int64_t basis = scene.basis, numbers = 4 * basis;
    for (int64_t r = 0; r < scene.rows(); ++r) {
      EXPECT_NEAR(float(scene.table[r * numbers]) * scene.factors[0], voxels.density[r],
                  0.501F * scene.factors[0]);
      for (int64_t n = 0; n < 3 * basis; ++n) {
        const float factor = scene.factors[size_t(basis + n)];
        EXPECT_NEAR(float(scene.table[r * numbers + basis + n]) * factor,
                    voxels.coefficients[r * 3 * basis + n], 0.501F * factor);
      }
    }
    EXPECT_EQ(scene.distance[0], 1);
    EXPECT_EQ(std::accumulate(scene.distance.begin(), scene.distance.end(), 0), 1)
        << "all other cells are filled";
  }
}

TEST(RealtimeBaked, ShowsWhatTheVoxelsShow) {
  const VoxelModel voxels = voxels_to_bake(1);
  const BakedScene scene = baked_scene(voxels, plan_of_baked());
  BakedPixels source(scene, plan_of_baked(), 0);
  const Camera camera = camera_around(0.3);
  Picture picture = Renderer::empty_picture(camera);
  source.draw(camera, pixels_by_rows(kPixels, kPixels), picture);
  const auto model = field_model(voxels.copy());
  CallTimes times = later_is_faster();
  const BackendChoice where = backend_named("cpu");
  const Plan plan = Plan::named("last", model->picture_calls(where), times);
  const Picture own = model->renderer(plan, where, Renderer::kRays)(camera);
  EXPECT_GT(psnr(picture.rgb, own.rgb), 45);
  EXPECT_LT(psnr(picture.rgb, own.rgb), 90) << "bytes and another quadrature leave a trace";
}

TEST(RealtimeBaked, RefusesWhatItCannotRead) {
  EXPECT_THROW(baked_scene(voxels_to_bake(2), plan_of_baked()), std::runtime_error);
  EXPECT_THROW(baked_scene(voxels_to_bake(1, "graded", 3), plan_of_baked()), std::runtime_error);
}

TEST(RealtimePlans, VoxelsHaveThePlansOfTheirGrid) {
  const auto model = field_model(voxels_to_bake(1));
  CallTimes times = later_is_faster();
  std::vector<FramePlan> plans = frame_plans(*model, {.rungs = "last"}, times, [](const std::string&) {});
  ASSERT_EQ(plans.size(), 4U);
  EXPECT_EQ(plans[1].name, "07_baked");
  EXPECT_EQ(plans[1].parent, plans[0].name);
  const Camera camera = camera_around(0.3);
  EXPECT_GT(psnr(plans[0].draw(camera).rgb, plans[1].draw(camera).rgb), 40);
}

TEST(RealtimePlans, RefusesOtherFieldsAndNumbers) {
  CallTimes times = later_is_faster();
  const auto silent = [](const std::string&) {};
  FrequencyConfig config;
  config.octaves = 3, config.direction_octaves = 2, config.width = 16, config.depth = 3, config.skip = 1;
  const auto frequency = field_model(FrequencyModel(config, {}));
  try {
    frame_plans(*frequency, {.rungs = "naive"}, times, silent);
    ADD_FAILURE() << "draws a frequency field";
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("a field of frequency"), std::string::npos) << e.what();
  }
  const auto voxels = field_model(voxels_to_bake(1));
  EXPECT_THROW(frame_plans(*voxels, {.cells = 24}, times, silent), std::invalid_argument);
  EXPECT_THROW(frame_plans(*voxels, {.every = 3}, times, silent), std::invalid_argument);
}

TEST(RealtimeMeasure, APathEndsAtItsView) {
  const View& view = small_scene().test.front();
  const FramePath path = path_to(view, 4, 2);
  ASSERT_EQ(path.cameras.size(), 4U);
  EXPECT_EQ(path.cameras.back().pose, view.camera.pose);
  const auto from_middle = [](const Camera& c) {
    return std::hypot(c.position().x - 0.5F, c.position().y - 0.5F);
  };
  for (const Camera& camera : path.cameras) {
    EXPECT_NEAR(from_middle(camera), from_middle(view.camera), 1e-5);
    EXPECT_NEAR(camera.position().z, view.camera.position().z, 1e-6);
  }
  const Vec3 a = path.cameras[2].axis(2), b = path.cameras[3].axis(2);
  const double flat = std::hypot(a.x, a.y) * std::hypot(b.x, b.y);
  EXPECT_NEAR(std::acos(std::min(1.0, (double(a.x) * b.x + double(a.y) * b.y) / flat)), 2 * M_PI / 180, 1e-3);
}

TEST_F(Realtime, EveryPlanDrawsEveryPathInEveryRound) {
  const View& view = small_scene().test.front();
  const std::vector<FramePath> paths = {path_to(view, 3, 1), {small_path(3), nullptr}};
  int pictures = 0;
  const auto none = [](const std::string&) {};
  const auto measured = measure_frames(
      plans, paths, 2, false, [] { return false; }, none,
      [&](const FramePlan&, const FramePath& path, const Picture&) {
        pictures += path.last == &view ? 1 : 0;
      });
  EXPECT_EQ(pictures, int(plans.size()));
  const std::vector<PlanRow> rows = rows_of(plans, measured);
  ASSERT_EQ(rows.size(), plans.size());
  for (size_t k = 0; k < rows.size(); ++k) {
    EXPECT_EQ(measured[k].seconds.size(), 4U);
    EXPECT_GT(rows[k].frames_per_second.value, 0);
    ASSERT_TRUE(rows[k].psnr.has_value()) << rows[k].plan;
    EXPECT_GT(*rows[k].psnr, 8) << rows[k].plan;
    EXPECT_EQ(rows[k].apart.has_value(), k > 0);
    EXPECT_EQ(rows[k].over_parent.has_value(), k > 0);
  }
  EXPECT_TRUE(std::isinf(*rows[2].apart) || *rows[2].apart > 60);
  int asked = 0;
  const auto cut = measure_frames(
      plans, paths, 2, false, [&] { return ++asked > 3; }, none,
      [](const FramePlan&, const FramePath&, const Picture&) {});
  EXPECT_TRUE(cut.front().seconds.empty()) << "a round that was cut short is no round";
}

}  // namespace
}  // namespace klab
