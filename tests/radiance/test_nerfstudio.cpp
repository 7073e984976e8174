// transforms.json as nerfstudio writes it: lists of files, points, masks, lenses of wide angle, a world without a box.
// ctest: sanitized
#include "tests/radiance/colmap_folder.h"
#include "tests/radiance/scene_folder.h"

namespace klab {
namespace {

class Nerfstudio : public SceneFolder {
 protected:
  void SetUp() override {
    SceneFolder::SetUp();
    fs::create_directories(path / "images");
    document = {{"camera_model", "OPENCV"},
                {"fl_x", 20},
                {"fl_y", 21},
                {"cx", 8},
                {"cy", 6},
                {"w", 16},
                {"h", 12},
                {"k1", 0.01},
                {"frames", json::array()}};
    for (int i = 0; i < 9; ++i) {
      const std::string name = fmt::format("images/frame_{}.png", i);
      picture(name, 16, 12, 3);
      document["frames"].push_back({{"file_path", name}, {"transform_matrix", pose(0.4F * float(i))}});
    }
  }
  Scene loaded(const SceneOptions& options = {.holdout = 0}) {
    write("transforms.json");
    return load_scene(path.string(), options);
  }
  std::string refused() {
    write("transforms.json");
    return error();
  }
  static bool noted(const Scene& scene, const std::string& words) {
    for (const std::string& note : scene.notes)
      if (note.find(words) != std::string::npos) return true;
    return false;
  }
  void write_ply(const std::string& body, int n, const std::string& format) const {
    write_text(
        path / "sparse_pc.ply",
        fmt::format(
            "ply\nformat {} 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty float "
            "z\nproperty uint8 red\nproperty uint8 green\nproperty uint8 blue\nend_header\n{}",
            format, n, body));
  }
};

TEST_F(Nerfstudio, FitsAWorldWithoutABoxIntoOne) {
  document["applied_transform"] = {{1, 0, 0, 0}, {0, 0, 1, 0}, {0, -1, 0, 0}};
  const Scene scene = loaded();
  EXPECT_EQ(scene.format, "nerfstudio");
  EXPECT_EQ(scene.cascades, 3);
  // pose() puts cameras 4 away from the origin, at which they look, with +y up.
  EXPECT_NEAR(length(scene.train[2].camera.position() - Vec3{0.5F, 0.5F, 0.5F}), 1.32, 1e-4);
  EXPECT_NEAR(scene.train[2].camera.axis(1).z, 1, 1e-5);
  EXPECT_FLOAT_EQ(scene.train[2].camera.k1, 0.01F);
  document["aabb_scale"] = 2;  // a box that the file gives holds
  const Scene placed = loaded();
  EXPECT_EQ(placed.cascades, 2);
  EXPECT_NEAR(length(placed.train[2].camera.position() - Vec3{0.5F, 0.5F, 0.5F}), 4 * 0.33, 1e-4);
  EXPECT_NEAR(placed.train[2].camera.axis(1).y, 1, 1e-5);
}

TEST_F(Nerfstudio, FileListsSplitTrainAndTest) {
  document["train_filenames"] = {"images/frame_1.png", "./images/frame_2.png", "images/frame_3.png",
                                 "images/nowhere.png"};
  document["val_filenames"] = {"images/frame_4.png"};
  document["test_filenames"] = {"images/frame_5.png", "images/frame_6.png"};
  const Scene scene = loaded({.holdout = 8});
  ASSERT_EQ(scene.train.size(), 3U);
  ASSERT_EQ(scene.test.size(), 2U);
  EXPECT_EQ(scene.test[1].name, "images/frame_6.png");
  EXPECT_TRUE(noted(scene, "4 frames are in no list"));
  EXPECT_TRUE(noted(scene, "1 of 6 files listed for training and testing are no frame"));
  document.erase("test_filenames");
  EXPECT_EQ(loaded().test.at(0).name, "images/frame_4.png");
  document["train_filenames"] = {"images/nowhere.png"};
  EXPECT_NE(refused().find("no frame with a picture is in \"train_filenames\""), std::string::npos)
      << refused();
  document["train_filenames"] = {7};
  EXPECT_NE(refused().find("\"train_filenames\" is no text"), std::string::npos) << refused();
}

TEST_F(Nerfstudio, PointsAreRead) {
  document["ply_file_path"] = "sparse_pc.ply";
  EXPECT_TRUE(noted(loaded(), "are not there"));
  Binary body;
  for (int i = 0; i < 5; ++i) {
    for (const float x : {0.1F * float(i), 0.2F, i == 3 ? NAN : 0.3F}) body.add(x);
    for (const int level : {10 * i, 20, 30}) body.add(uint8_t(level));
  }
  write_ply(body.bytes, 5, "binary_little_endian");
  const Scene binary = loaded();
  ASSERT_EQ(binary.points.size(), 4U);
  EXPECT_TRUE(noted(binary, "1 points have coordinates that are no places"));
  const Vec3 p = binary.world_of(binary.points[2].position);
  EXPECT_NEAR(p.x, 0.2, 1e-5);
  EXPECT_NEAR(p.z, 0.3, 1e-5);
  EXPECT_EQ(binary.points[2].rgb[0], 20);
  write_ply("0.5 0.25 -1 1 2 3\r\n1e-1 nan 0 1 2 3\n0 0 0 255 0 0\n", 3, "ascii");
  const Scene text = loaded();
  ASSERT_EQ(text.points.size(), 2U);
  EXPECT_EQ(text.points[0].rgb[2], 3);
  EXPECT_EQ(text.points[1].rgb[0], 255);
  // The scene is read without them, and a note says why.
  write_ply("0.5 0.25 -1 1 2 3\n0.5 0.25\n", 2, "ascii");
  EXPECT_TRUE(noted(loaded(), "vertex 1 does not have 6 numbers"));
  write_ply("0.5 0.25 -1 1 2 3\n", 1000, "ascii");
  EXPECT_TRUE(noted(loaded(), "more than it has room for"));
  write_ply(body.bytes, 6, "binary_little_endian");
  EXPECT_TRUE(noted(loaded(), "announces 6 vertices"));
  write_ply(body.bytes, 5, "binary_middle_endian");
  EXPECT_TRUE(noted(loaded(), "has the format 'binary_middle_endian'"));
}

TEST_F(Nerfstudio, MasksCoverPixels) {
  std::vector<uint8_t> mask(16 * 12, 255);
  for (size_t i = 0; i < 48; ++i) mask[i] = 0;
  save_png(path / "mask.png", 16, 12, 1, mask);
  document["frames"][3]["mask_path"] = "mask.png";
  document["k1"] = 0;
  const Scene scene = loaded();
  EXPECT_EQ(scene.masks, 1);
  EXPECT_EQ(scene.train[2].with_ray, nullptr);
  ASSERT_NE(scene.train[3].with_ray, nullptr);
  EXPECT_EQ(scene.train[3].with_ray->size(), size_t(16 * 9));
  document["frames"][4]["mask_path"] = "no_mask.png";
  EXPECT_NE(refused().find("its mask"), std::string::npos) << refused();
  document["frames"][4]["mask_path"] = 5;
  EXPECT_NE(refused().find("\"mask_path\" is no text"), std::string::npos) << refused();
}

TEST_F(Nerfstudio, LensesOfWideAngleBecomePinholes) {
  document["camera_model"] = "OPENCV_FISHEYE";
  document["k2"] = -0.01, document["k3"] = 0.001, document["k4"] = -0.002;
  const Scene scene = loaded();
  EXPECT_FALSE(scene.train[0].camera.distorts());
  EXPECT_TRUE(noted(scene, "9 pictures of lenses that bend are taken as a pinhole's"));
  ASSERT_EQ(scene.lenses.size(), 1U);
  EXPECT_NE(scene.lenses[0].find("OPENCV_FISHEYE 16x12, focal length 20 21 px"), std::string::npos)
      << scene.lenses[0];
  document["camera_model"] = "OPENCV";
  EXPECT_NE(refused().find("\"k3\" is 0.001"), std::string::npos) << refused();
  document["is_fisheye"] = true;
  EXPECT_EQ(loaded().train.size(), 9U) << "instant-ngp's name for it";
  document["p1"] = 0.01;
  EXPECT_NE(refused().find("\"p1\" is 0.01"), std::string::npos) << refused();
  document["camera_model"] = "EQUIRECTANGULAR";
  EXPECT_NE(refused().find("'EQUIRECTANGULAR' (known are SIMPLE_PINHOLE"), std::string::npos) << refused();
}

TEST_F(Nerfstudio, NamesInvalidMatrices) {
  document["applied_transform"] = {{1, 0, 0, 0}, {0, 0, 1, 0}};
  EXPECT_NE(refused().find("\"applied_transform\" must be 3 or 4 rows"), std::string::npos) << refused();
}

TEST_F(Nerfstudio, ParallelCamerasAreCenteredOnTheirPositions) {
  for (size_t i = 0; i < 9; ++i)
    document["frames"][i]["transform_matrix"] = {
        {1, 0, 0, 0.5 * double(i)}, {0, 1, 0, 0}, {0, 0, 1, 3}, {0, 0, 0, 1}};
  const Scene scene = loaded();
  EXPECT_TRUE(noted(scene, "no point that all look at"));
  const Vec3 middle = scene.world_of({0.5F, 0.5F, 0.5F});
  EXPECT_NEAR(middle.x, 2, 1e-4);
  EXPECT_NEAR(middle.z, 3, 1e-4);
}

}  // namespace
}  // namespace klab
