// Measured depth of scenes on disk: depth maps of transforms files, and points that images of a COLMAP model show.
#include <png.h>

#include <algorithm>

#include "labs/radiance/field/config.h"
#include "labs/radiance/train/trainer.h"
#include "tests/radiance/scene_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

class DepthFiles : public SceneFolder {
 protected:
  void SetUp() override {
    SceneFolder::SetUp();
    for (int i = 0; i < 4; ++i) {
      map(fmt_name(i), 16, 12, 4000);  // 4 of the file's units: the camera's distance to the origin
      document["frames"][size_t(i)]["depth_file_path"] = fmt_name(i);
    }
  }
  static std::string fmt_name(int i) { return "depth_" + std::to_string(i) + ".png"; }
  void map(const std::string& name, int w, int h, uint16_t level, bool with_holes = true) const {
    std::vector<uint16_t> levels(size_t(w) * size_t(h), level);
    if (with_holes) levels[3] = 0;
    png_image png{};
    png.version = PNG_IMAGE_VERSION;
    png.width = png_uint_32(w), png.height = png_uint_32(h);
    png.format = PNG_FORMAT_LINEAR_Y;
    ASSERT_NE(png_image_write_to_file(&png, (path / name).c_str(), 0, levels.data(), 0, nullptr), 0);
  }
  Scene with_depth() const { return load_scene(path.string(), {.holdout = 0, .depth = true}); }
  std::string refused() const {
    write();
    try {
      with_depth();
    } catch (const std::exception& e) {
      return e.what();
    }
    return "";
  }
};

TEST_F(DepthFiles, BecomesDistancesAlongRaysInTheGrid) {
  write();
  const Scene scene = with_depth();
  for (const View& view : scene.train) {
    ASSERT_EQ(int64_t(view.depth.size()), view.pixels());
    EXPECT_EQ(view.depth[3], 0) << "a hole is not known";
    for (const auto& [x, y] : {std::pair{0, 0}, {15, 11}, {8, 6}}) {
      const Ray ray = view.camera.ray(float(x) + 0.5F, float(y) + 0.5F);
      const Vec3 at = ray.origin + view.depth[size_t(y * 16 + x)] * ray.direction;
      // On the plane through the middle of the box that faces the camera.
      EXPECT_NEAR(dot(at - Vec3{0.5F, 0.5F, 0.5F}, view.camera.axis(2)), 0, 1e-4);
    }
  }
  document["integer_depth_scale"] = 0.002;
  write();
  EXPECT_NEAR(with_depth().train[0].depth[0], 2 * scene.train[0].depth[0], 1e-4);
}

TEST_F(DepthFiles, IsReadOnlyWhereItIsAskedFor) {
  write();
  EXPECT_TRUE(load().train[0].depth.empty());
  EXPECT_NE(load().notes.size(), 0U);
  Config c = small_config();
  c.depth = 0.1;
  const Scene with = with_depth(), without = load_scene(path.string(), {.holdout = 0});
  Trainer trainer(with, c, small_plan(), 3);
  const StepReport report = trainer.step(0);
  const auto& all = loss_terms();
  const auto depth = std::ranges::find(all, &LossSettings::depth, &LossTerm::weight) - all.begin();
  ASSERT_LT(depth, std::ssize(all));
  EXPECT_GT(report.terms[size_t(depth)], 0) << "depth has no value in the loss";
  try {
    Trainer refused(without, c, small_plan(), 3);
    FAIL() << "a weight of depth does nothing";
  } catch (const std::invalid_argument& e) {
    EXPECT_NE(std::string(e.what()).find("\"depth\" needs"), std::string::npos) << e.what();
  }
}

TEST_F(DepthFiles, RefusesMapsThatCannotBeRight) {
  EXPECT_EQ(refused(), "");
  const auto names = [&](const std::string& words) {
    const std::string error = refused();
    return error.find("depth_1.png") != std::string::npos && error.find(words) != std::string::npos
               ? ""
               : "not \"" + words + "\": " + error;
  };
  map("depth_1.png", 16, 16, 4000);
  EXPECT_EQ(names("16x16, which has not the shape"), "");
  map("depth_1.png", 16, 12, 0);
  EXPECT_EQ(names("holds no distance"), "");
  map("depth_1.png", 16, 12, 1, false);
  EXPECT_EQ(names("integer_depth_scale"), "");
  picture("depth_1.png", 16, 12, 1);
  EXPECT_EQ(names("16 bits"), "");
  fs::remove(path / "depth_1.png");
  EXPECT_EQ(names("no such"), "");
}

}  // namespace
}  // namespace klab
