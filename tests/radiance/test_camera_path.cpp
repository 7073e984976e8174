// Paths of cameras: along those of a scene that do not surround it, and from nerfstudio's files.
// ctest: sanitized
#include "harness/records/refused.h"
#include "labs/radiance/scene/camera_path.h"
#include "tests/radiance/colmap_folder.h"

namespace klab {
namespace {

/// A scene of cameras on an arc of that many radians around the middle, named in an order by `step`.
Scene arc_of(double radians, size_t n, size_t step = 1) {
  Scene scene;
  for (size_t i = 0; i < n; ++i) {
    const double a = radians * double(i) / double(n);
    const Vec3 middle{0.5F, 0.5F, 0.5F};
    View view;
    view.name = fmt::format("{:03}", i * step % n);
    view.camera = look_at(middle + Vec3{1.5F * float(std::cos(a)), 1.5F * float(std::sin(a)), 0.4F}, middle,
                          60, 40, 0.7F);
    view.camera.k1 = 0.1F;
    scene.train.push_back(view);
  }
  return scene;
}

void expect_even_path(const std::vector<Camera>& path, double radius) {
  std::vector<float> steps;
  for (size_t i = 0; i < path.size(); ++i) {
    const Camera& c = path[i];
    EXPECT_NEAR(length(c.position() - Vec3{0.5F, 0.5F, c.position().z}), radius, 0.06)
        << i << " leaves the cameras";
    EXPECT_GT(dot(c.axis(2), normalized(c.position() - Vec3{0.5F, 0.5F, 0.5F})), 0.99F) << i << " looks away";
    EXPECT_NEAR(dot(c.axis(0), c.axis(1)), 0, 1e-5);
    EXPECT_NEAR(length(c.axis(0)), 1, 1e-5);
    EXPECT_GT(dot(cross(c.axis(0), c.axis(1)), c.axis(2)), 0.99F) << "mirrors";
    if (i > 0) steps.push_back(length(c.position() - path[i - 1].position()));
  }
  const float most = *std::ranges::max_element(steps), least = *std::ranges::min_element(steps);
  EXPECT_LT(most, 1.05F * least) << "the pace changes";
}

TEST(CameraPath, FollowsCamerasThatDoNotSurroundTheScene) {
  EXPECT_TRUE(cameras_surround(arc_of(2 * M_PI, 12)));
  EXPECT_FALSE(cameras_surround(arc_of(M_PI, 12)));
  EXPECT_FALSE(cameras_surround(arc_of(2 * M_PI, 2))) << "two cameras surround nothing";
  const std::vector<Camera> path = path_through_cameras(arc_of(2, 20), 50, 30);
  ASSERT_EQ(path.size(), 50U);
  expect_even_path(path, 1.5);
  EXPECT_EQ(path[7].width, 30);
  EXPECT_EQ(path[7].height, 20);
  EXPECT_NEAR(path[7].fx, arc_of(2, 20).train[0].camera.fx / 2, 1e-4);
  EXPECT_FALSE(path[7].distorts());
  // It leads from one end to the other.
  const Scene scene = arc_of(2, 20);
  const auto ends_at = [&](Vec3 p) {
    return std::min(length(p - path.front().position()), length(p - path.back().position()));
  };
  EXPECT_LT(ends_at(scene.train.front().camera.position()), 0.01);
  EXPECT_LT(ends_at(scene.train.back().camera.position()), 0.01);
}

TEST(CameraPath, TakesAShortTourWhereNamesJumpAbout) {
  expect_even_path(path_through_cameras(arc_of(2, 19, 7), 40, 30), 1.5);
}

TEST(CameraPath, StandsStillAndTurnsWithCamerasInOnePlace) {
  Scene scene = arc_of(1, 5);
  for (View& view : scene.train) view.camera.pose[3] = view.camera.pose[7] = view.camera.pose[11] = 1;
  const std::vector<Camera> path = path_through_cameras(scene, 9, 30);
  EXPECT_NEAR(length(path[4].position() - Vec3{1, 1, 1}), 0, 1e-5);
  EXPECT_LT(dot(path.front().axis(2), path.back().axis(2)), 0.9F);
  scene.train.resize(1);
  EXPECT_EQ(path_through_cameras(scene, 3, 30).size(), 3U);
  scene.train.clear();
  EXPECT_THROW(path_through_cameras(scene, 3, 30), std::invalid_argument);
}

class CameraPathFile : public WrittenFolder {
 protected:
  std::string refusal(const nlohmann::json& document) {
    write_text(path / "path.json", document.dump());
    try {
      read_camera_path(path / "path.json", {});
    } catch (const Refused& e) {
      EXPECT_TRUE(e.complete()) << e.what();
      return e.what();
    }
    return "was read";
  }
};

TEST_F(CameraPathFile, IsReadInTheSceneItWasMadeFor) {
  const Camera world = look_at({4, 5, 6}, {1, 2, 3}, 64, 48, 0.7F);
  nlohmann::json flat = nlohmann::json::array(), rows = nlohmann::json::array();
  for (size_t r = 0; r < 4; ++r) {
    nlohmann::json row = nlohmann::json::array();
    for (size_t c = 0; c < 4; ++c)
      row.push_back(r == 3 ? (c == 3 ? 1.0 : 0.0) : double(world.pose[4 * r + c]));
    for (const auto& value : row) flat.push_back(value);
    rows.push_back(row);
  }
  nlohmann::json document = {
      {"camera_type", "perspective"}, {"render_width", 64}, {"render_height", 48}, {"fps", 25}};
  document["camera_path"] = {{{"camera_to_world", flat}, {"fov", 60}}, {{"camera_to_world", rows}}};
  write_text(path / "path.json", document.dump());
  Scene scene;
  scene.scale = 0.5F;
  scene.offset = {0.5F, 0, 0};
  scene.turn = {0, 1, 0, -1, 0, 0, 0, 0, 1};
  scene.origin = {1, 1, 1};
  const CameraPath read = read_camera_path(path / "path.json", scene);
  ASSERT_EQ(read.cameras.size(), 2U);
  EXPECT_EQ(read.frames_per_second, 25);
  const Camera& c = read.cameras[0];
  EXPECT_NEAR(c.position().x, 0.5 * (5 - 1) + 0.5, 1e-6);
  EXPECT_NEAR(c.position().y, -0.5 * (4 - 1), 1e-6);
  EXPECT_NEAR(c.axis(2).x, world.axis(2).y, 1e-6);
  EXPECT_NEAR(c.fy, 24 / std::tan(M_PI / 6), 1e-4);
  EXPECT_EQ(read.cameras[1].pose, c.pose);
  EXPECT_EQ(read_camera_path(path / "path.json", scene, 32).cameras[0].height, 24);
  nlohmann::json bad = document;
  bad["camera_path"][1].erase("camera_to_world");
  EXPECT_NE(refusal(bad).find("camera 1 has no \"camera_to_world\""), std::string::npos) << refusal(bad);
  bad = document;
  bad["camera_path"][0]["camera_to_world"][0] = 7;
  EXPECT_NE(refusal(bad).find("is not rigid"), std::string::npos) << refusal(bad);
  bad = document;
  bad["camera_path"][0]["fov"] = 200;
  EXPECT_NE(refusal(bad).find("camera 0: \"fov\" must be a number from 1 to 170"), std::string::npos)
      << refusal(bad);
  bad = document;
  bad["camera_type"] = "equirectangular";
  EXPECT_NE(refusal(bad).find("\"camera_type\""), std::string::npos) << refusal(bad);
  bad = document;
  bad.erase("camera_path");
  EXPECT_NE(refusal(bad).find("export the path from nerfstudio's viewer"), std::string::npos) << refusal(bad);
}

/// A path that is written is read as the same cameras, in a turned world that is far away too.
TEST_F(CameraPathFile, IsReadAsItWasWritten) {
  Scene scene;
  scene.scale = 0.5F;
  scene.offset = {0.5F, 0, 0.25F};
  scene.turn = {0.36F, 0.48F, -0.8F, -0.8F, 0.6F, 0, 0.48F, 0.64F, 0.6F};
  scene.origin = {1000, -2000, 3};
  CameraPath path_of_three{.cameras = {}, .frames_per_second = 12.5};
  for (int k = 0; k < 3; ++k)
    path_of_three.cameras.push_back(look_at({1.5F + float(k), 0.2F, 1.1F}, {0.5F, 0.5F, 0.4F}, 64, 48, 0.8F));
  save_camera_path(path / "path.json", path_of_three, scene);
  const CameraPath back = read_camera_path(path / "path.json", scene);
  ASSERT_EQ(back.cameras.size(), 3U);
  EXPECT_EQ(back.frames_per_second, 12.5);
  for (size_t i = 0; i < 3; ++i) {
    const Camera &a = path_of_three.cameras[i], &b = back.cameras[i];
    EXPECT_EQ(b.width, 64);
    EXPECT_EQ(b.height, 48);
    EXPECT_NEAR(b.fx, a.fx, 1e-3);
    EXPECT_NEAR(b.fy, a.fy, 1e-3);
    for (size_t k = 0; k < 12; ++k) EXPECT_NEAR(b.pose[k], a.pose[k], 2e-6) << i << " " << k;
  }
}

}  // namespace
}  // namespace klab
