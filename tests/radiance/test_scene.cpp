// Scenes: accepted inputs, and parts that are dropped with a note. test_scene_refused.cpp has the refused
// ones.
// ctest: sanitized-ops
#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "labs/radiance/scene/scene.h"
#include "labs/radiance/train/trainer.h"
#include "tests/core/temp_folder.h"
#include "tests/radiance/scene_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

using ReadFolder = SceneFolder;

TEST_F(ReadFolder, ReadsTrainAndTestApart) {
  write();
  json all = document;
  document["frames"] = json::array({all["frames"][1]});
  write("transforms_test.json");
  document = {{"frames", json::array()}};
  write("transforms_of_something_else.json");
  const Scene scene = load();
  EXPECT_EQ(scene.train.size(), 4U);
  EXPECT_EQ(scene.test.size(), 1U);
  EXPECT_EQ(scene.format, "Blender");
  const Camera& c = scene.train[0].camera;
  EXPECT_EQ(c.width, 16);
  EXPECT_NEAR(c.fx, 8 / std::tan(0.35), 1e-4);
  EXPECT_FLOAT_EQ(c.cx, 8);
  // World (0,0,4) lies at a third of its distance from the middle of the unit cube.
  EXPECT_NEAR(c.position().z, 0.5 + 4.0 / 3, 1e-5);
  const Vec3 d = c.ray(8, 6).direction;
  EXPECT_NEAR(d.z, -1, 1e-5);
}

TEST_F(ReadFolder, HoldsOutEveryEighthWithoutATestSet) {
  for (int i = 4; i < 20; ++i) document["frames"].push_back(document["frames"][size_t(i % 4)]);
  write("transforms.json");
  const Scene scene = load();
  EXPECT_EQ(scene.test.size(), 3U);
  EXPECT_EQ(scene.train.size(), 17U);
}

TEST_F(ReadFolder, SkipsMissingPicturesWithACount) {
  fs::remove(path / "view_2.png");
  write();
  const Scene scene = load_scene(path.string(), {.holdout = 0});
  EXPECT_EQ(scene.train.size(), 3U);
  ASSERT_EQ(scene.notes.size(), 1U);
  EXPECT_NE(scene.notes[0].find("1 of 4 frames have no picture"), std::string::npos) << scene.notes[0];
}

TEST_F(ReadFolder, AllPicturesMissingIsAnError) {
  for (int i = 0; i < 4; ++i) fs::remove(path / ("view_" + std::to_string(i) + ".png"));
  write();
  EXPECT_NE(error().find("none of its 4 frames"), std::string::npos) << error();
}

TEST_F(ReadFolder, LeavesOutPicturesOfAnotherShape) {
  picture("view_1.png", 30, 7, 3);
  document["w"] = 16;
  document["h"] = 12;
  write();
  const Scene scene = load_scene(path.string(), {.holdout = 0});
  EXPECT_EQ(scene.train.size(), 3U);
  EXPECT_FALSE(scene.notes.empty());
}

TEST_F(ReadFolder, FramesWithTheirOwnSizeMayDiffer) {
  picture("view_1.png", 12, 16, 3);
  for (int i = 0; i < 4; ++i) {
    json& frame = document["frames"][size_t(i)];
    frame["w"] = i == 1 ? 12 : 16;
    frame["h"] = i == 1 ? 16 : 12;
    frame["fl_x"] = frame["fl_y"] = 20 + i;
  }
  write();
  const Scene scene = load_scene(path.string(), {.holdout = 0});
  ASSERT_EQ(scene.train.size(), 4U);
  EXPECT_EQ(scene.train[1].camera.width, 12);
  EXPECT_EQ(scene.train[1].camera.fy, 21);
  EXPECT_EQ(scene.train[2].camera.width, 16);
  document["frames"][1]["w"] = 40;  // not the picture's width
  write();
  EXPECT_EQ(load_scene(path.string(), {.holdout = 0}).train.size(), 3U);
}

TEST_F(ReadFolder, ReadsLensesWithoutDistortion) {
  document["camera_model"] = "OPENCV";
  document["is_fisheye"] = false;
  document["k3"] = document["k4"] = 0;
  write();
  EXPECT_EQ(load_scene(path.string(), {.holdout = 0}).train.size(), 4U);
}

TEST_F(ReadFolder, NamesANumberTooLargeForADouble) {
  std::string text = document.dump();
  text.replace(text.find("0.7"), 3, "1e999");
  std::ofstream(path / "transforms_train.json") << text;
  EXPECT_NE(error().find("transforms_train.json: as JSON it holds a number too large"), std::string::npos)
      << error();
}

TEST_F(ReadFolder, ReadsEveryNumberOfChannels) {
  picture("view_0.png", 16, 12, 1);
  picture("view_1.png", 16, 12, 3);
  write();
  const Scene scene = load_scene(path.string(), {.holdout = 0});
  const Image& gray = scene.train[0].image;
  EXPECT_EQ(gray.at(3, 0)[0], gray.at(3, 0)[2]);
  EXPECT_EQ(gray.at(3, 0)[3], 255);
  EXPECT_FALSE(gray.has_alpha);
  EXPECT_TRUE(scene.train[2].image.has_alpha);
}

// Writes PNGs of other programs: two channels, sixteen bits, palettes.
void write_png(const fs::path& file, int w, int h, int color_type, int bits,
               const std::vector<uint8_t>& rows) {
  FILE* out = std::fopen(file.c_str(), "wb");
  ASSERT_NE(out, nullptr);
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_init_io(png, out);
  png_set_IHDR(png, info, png_uint_32(w), png_uint_32(h), bits, color_type, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> palette = {{10, 20, 30}, {200, 100, 50}};
  if (color_type == PNG_COLOR_TYPE_PALETTE) png_set_PLTE(png, info, palette.data(), int(palette.size()));
  png_write_info(png, info);
  const size_t row = rows.size() / size_t(h);
  for (int y = 0; y < h; ++y) png_write_row(png, rows.data() + size_t(y) * row);
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  std::fclose(out);
}

TEST_F(ReadFolder, ReadsTwoChannelsSixteenBitsAndPalettes) {
  std::vector<uint8_t> gray_alpha, deep, indices;
  for (int i = 0; i < 16 * 12; ++i) {
    gray_alpha.insert(gray_alpha.end(), {uint8_t(i), uint8_t(255 - i)});
    for (int c = 0; c < 3; ++c) deep.insert(deep.end(), {uint8_t(i + c), 0x7F});  // big end first
    indices.push_back(uint8_t(i % 2));
  }
  write_png(path / "view_0.png", 16, 12, PNG_COLOR_TYPE_GRAY_ALPHA, 8, gray_alpha);
  write_png(path / "view_1.png", 16, 12, PNG_COLOR_TYPE_RGB, 16, deep);
  write_png(path / "view_2.png", 16, 12, PNG_COLOR_TYPE_PALETTE, 8, indices);
  write();
  const Scene scene = load_scene(path.string(), {.holdout = 0});
  ASSERT_EQ(scene.train.size(), 4U);
  for (const int x : {0, 5, 15}) {
    const uint8_t* gray = scene.train[0].image.at(x, 2);
    EXPECT_EQ(gray[0], 32 + x);
    EXPECT_EQ(gray[2], 32 + x);
    EXPECT_EQ(gray[3], 255 - (32 + x));
    const uint8_t* sixteen = scene.train[1].image.at(x, 2);
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(sixteen[c], 32 + x + c, 1);
    EXPECT_EQ(sixteen[3], 255);
    EXPECT_EQ(scene.train[2].image.at(x, 2)[0], x % 2 ? 200 : 10);
  }
}

TEST_F(ReadFolder, OneViewIsEnoughToTrainOn) {
  document["frames"] = json::array({document["frames"][0]});
  write();
  const Scene scene = load_scene(path.string(), {});
  EXPECT_EQ(scene.train.size(), 1U);
  EXPECT_TRUE(scene.test.empty());
}

TEST_F(ReadFolder, CamerasThatSeeNothingAreCountedAndTrainToNothing) {
  write();
  Scene scene = load_scene(path.string(), {.holdout = 0});
  const auto turn_away = [&](json& frame) {
    auto& m = frame["transform_matrix"];
    for (int row = 0; row < 3; ++row) m[row][3] = -10 * m[row][2].get<double>();  // behind themselves
  };
  for (size_t i = 0; i < 3; ++i) turn_away(document["frames"][i]);
  write();
  const Scene some = load_scene(path.string(), {.holdout = 0});
  ASSERT_FALSE(some.notes.empty());
  EXPECT_NE(some.notes.back().find("3 cameras look away"), std::string::npos) << some.notes.back();
  turn_away(document["frames"][3]);
  write();
  EXPECT_NE(error().find("no ray of its 3 cameras for training meets the box"), std::string::npos) << error();
  // Cameras that the reader refuses would train to nothing.
  for (View& view : scene.train)
    for (const size_t row : {3U, 7U, 11U}) view.camera.pose[row] = -30 * view.camera.pose[row - 1];
  Config config;
  config.log2_table = 8;
  config.grid = 16;
  config.batch_samples = 1024;
  Trainer trainer(scene, config, small_plan(), 1);
  for (int i = 0; i < 5; ++i) {
    const StepReport report = trainer.step(0);
    EXPECT_EQ(report.samples, 0);
    EXPECT_TRUE(std::isfinite(report.loss));
  }
  EXPECT_EQ(trainer.unseen_share(), 1);
}

TEST_F(ReadFolder, CamerasInsideTheBoxAreNoted) {
  for (auto& frame : document["frames"])
    for (int row = 0; row < 3; ++row)
      frame["transform_matrix"][row][3] = 0.1 * frame["transform_matrix"][row][3].get<double>();
  write();
  const Scene scene = load_scene(path.string(), {.holdout = 0});
  ASSERT_FALSE(scene.notes.empty());
  EXPECT_NE(scene.notes.back().find("4 cameras stand inside"), std::string::npos) << scene.notes.back();
}

TEST_F(ReadFolder, DropsAndCountsPixelsThatALensDoesNotReach) {
  for (const auto& [key, value] :
       {std::pair{"w", 4032.0}, {"h", 3024.0}, {"fl_x", 1500.0}, {"k1", 0.0578}, {"k2", -0.0805}})
    document[key] = value;
  write();
  const Scene scene = load_scene(path.string(), {.holdout = 0});
  ASSERT_FALSE(scene.notes.empty());
  EXPECT_NE(scene.notes[0].find("have no ray"), std::string::npos) << scene.notes[0];
  ASSERT_NE(scene.train[0].with_ray, nullptr);
  EXPECT_EQ(scene.train[0].with_ray, scene.train[3].with_ray) << "one lens, one list";
  Config config;
  config.log2_table = 8;
  config.grid = 16;
  config.batch_samples = 1024;
  Trainer trainer(scene, config, small_plan(), 1);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(std::isfinite(trainer.step(0).loss));
}

TEST(Scene, MissingOrEmptyFolder) {
  EXPECT_THROW(load_scene("no/such/folder", {}), std::runtime_error);
  const TempFolder empty;
  try {
    load_scene(empty.path().string(), {});
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("transforms_train.json"), std::string::npos);
  }
}

TEST(Scene, BuiltInHasExactDepthAndRepeats) {
  const SceneOptions small{.downscale = 16};
  const Scene a = built_in_scene(small), b = built_in_scene(small);
  ASSERT_FALSE(a.test.empty());
  EXPECT_EQ(a.train[3].image.rgba, b.train[3].image.rgba);
  // A point at the depth of a pixel lies inside the box and projects back to the pixel's center.
  const View& v = a.train[0];
  int seen = 0;
  for (int y = 0; y < v.camera.height; ++y)
    for (int x = 0; x < v.camera.width; ++x) {
      const float depth = v.depth[size_t(y * v.camera.width + x)];
      if (depth == 0) continue;
      ++seen;
      const Ray ray = v.camera.ray(float(x) + 0.5F, float(y) + 0.5F);
      const Vec3 p = ray.origin + depth * ray.direction;
      for (const float c : {p.x, p.y, p.z}) EXPECT_TRUE(c > 0 && c < 1);
      const Vec3 back = v.camera.project(p);
      EXPECT_NEAR(back.x, x + 0.5, 1e-3);
      EXPECT_NEAR(back.y, y + 0.5, 1e-3);
    }
  EXPECT_GT(seen, 20);
}

TEST(Scene, RealSetsIfPresent) {
  const fs::path data = fs::path(KLAB_SOURCE_DIR) / ".." / "shared" / "data";
  if (!fs::exists(data / "fox")) GTEST_SKIP() << "the public sets are not beside the checkout";
  const Scene fox = load_scene((data / "fox").string(), {.downscale = 8});
  EXPECT_EQ(fox.format, "instant-ngp");
  EXPECT_EQ(fox.cascades, 3);
  EXPECT_EQ(fox.train.size() + fox.test.size(), 50U);
  ASSERT_FALSE(fox.notes.empty());
  EXPECT_NE(fox.notes[0].find("17 of 67"), std::string::npos) << fox.notes[0];
}

}  // namespace
}  // namespace klab
