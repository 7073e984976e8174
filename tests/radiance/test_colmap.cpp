// Scenes of COLMAP: models of the built-in scene, whose cameras are known, written as text and as binary
// files.
// ctest: sanitized-ops
#include <algorithm>

#include "labs/radiance/scene/colmap_model.h"
#include "labs/radiance/train/trainer.h"
#include "tests/radiance/colmap_folder.h"
#include "tests/radiance/small_training.h"

namespace klab {
namespace {

/// Another world: turned by 0.9 about (2, -1, 2)/3, three times as large, elsewhere.
Moved elsewhere() {
  const double c = std::cos(0.9), s = std::sin(0.9), x = 2.0 / 3, y = -1.0 / 3, z = 2.0 / 3;
  return {.scale = 3,
          .turn = {c + x * x * (1 - c), x * y * (1 - c) - z * s, x * z * (1 - c) + y * s,
                   y * x * (1 - c) + z * s, c + y * y * (1 - c), y * z * (1 - c) - x * s,
                   z * x * (1 - c) - y * s, z * y * (1 - c) + x * s, c + z * z * (1 - c)},
          .shift = {5, -2, 11}};
}

class Colmap : public WrittenFolder {
 protected:
  void SetUp() override {
    WrittenFolder::SetUp();
    original = built_in_scene({.downscale = 16}).train;
    original.resize(24);
    std::ranges::sort(original, {}, &View::name);  // in the reader's order
    model = model_of(original, moved);
    const View& view = original.front();
    for (int i = 0; i < 40; ++i) {
      const int x = 7 + i % 6, y = 8 + i / 10;
      const float depth = view.depth[size_t(y * view.camera.width + x)];
      if (depth == 0) continue;
      const Ray ray = view.camera.ray(float(x) + 0.5F, float(y) + 0.5F);
      const auto at = moved(ray.origin + depth * ray.direction);
      const uint8_t* p = view.image.at(x, y);
      model.points.push_back({{float(at[0]), float(at[1]), float(at[2])}, {p[0], p[1], p[2]}});
    }
    ASSERT_GT(model.points.size(), 20U);
    pictures("images", 1);
  }
  void pictures(const std::string& folder, int factor) {
    fs::create_directories(path / folder);
    for (const View& view : original) {
      const Image small = downscale(view.image, factor);
      save_png(path / folder / (view.name + ".png"), small.width, small.height, 4, small.rgba);
    }
  }
  void write(bool binary, const std::string& folder = "sparse/0") const {
    (binary ? write_colmap_binary : write_colmap_text)(path / folder, model);
  }

  Moved moved = elsewhere();
  std::vector<View> original;
  WrittenModel model;
};

/// Rays lead from and to where those of the scene that the model was made of do, but for the world's other place. To 2e-5, some
/// twenty roundings of the world's coordinates, which reach 16.
TEST_F(Colmap, RaysMatchTheSceneItWasMadeOf) {
  for (const bool binary : {false, true}) {
    fs::remove_all(path / "sparse");
    write(binary);
    const Scene scene = load_scene(path.string(), {.holdout = 0});
    EXPECT_EQ(scene.format, binary ? "COLMAP, binary" : "COLMAP, text");
    ASSERT_EQ(scene.train.size(), original.size());
    for (size_t i = 0; i < original.size(); ++i) {
      ASSERT_EQ(scene.train[i].name, original[i].name + ".png");
      EXPECT_EQ(scene.train[i].image.rgba, original[i].image.rgba);
      for (const auto& [u, v] : {std::pair{0.5F, 0.5F}, {13.F, 4.F}, {19.5F, 19.5F}}) {
        const Ray was = original[i].camera.ray(u, v), is = scene.train[i].camera.ray(u, v);
        ASSERT_NEAR(length(is.direction), 1, 1e-5);
        for (const float t : {0.F, 1.5F}) {
          const auto expected = moved(was.origin + t * was.direction);
          // As far along the ray in the world as there: scale times as far in the grid.
          const Vec3 found = scene.world_of(is.origin + float(t * moved.scale) * scene.scale * is.direction);
          const float at[3] = {found.x, found.y, found.z};
          for (size_t k = 0; k < 3; ++k) ASSERT_NEAR(at[k], expected[k], 2e-5) << i << " " << t;
        }
      }
    }
  }
}

/// The point that the cameras look at is the middle of the box, their mean distance 1.32, their mean up
/// direction +z, and the visible points fit into the unit cube.
TEST_F(Colmap, FitsTheWorldIntoTheBox) {
  write(true);
  const Scene scene = load_scene(path.string(), {.holdout = 0});
  double distance = 0;
  Vec3 up;
  for (const View& view : scene.train) {
    distance += length(view.camera.position() - Vec3{0.5F, 0.5F, 0.5F}) / double(scene.train.size());
    up = up + view.camera.axis(1);
  }
  EXPECT_NEAR(distance, 1.32, 1e-3);
  EXPECT_NEAR(normalized(up).z, 1, 1e-5);
  EXPECT_EQ(scene.cascades, 1);
  // All cameras of the built-in scene look at one point.
  const auto target = moved({0.5F, 0.5F, 0.32F});
  const Vec3 middle = scene.world_of({0.5F, 0.5F, 0.5F});
  EXPECT_NEAR(middle.x, target[0], 1e-3);
  EXPECT_NEAR(middle.y, target[1], 1e-3);
  EXPECT_NEAR(middle.z, target[2], 1e-3);
  ASSERT_EQ(scene.points.size(), model.points.size());
  for (size_t i = 0; i < scene.points.size(); ++i) {
    const Vec3 back = scene.world_of(scene.points[i].position);
    EXPECT_NEAR(back.x, model.points[i].position.x, 1e-4);
    EXPECT_NEAR(back.z, model.points[i].position.z, 1e-4);
    EXPECT_EQ(scene.points[i].rgb, model.points[i].rgb);
  }
}

TEST_F(Colmap, TrainingRunsFromIt) {
  write(true);
  const Scene scene = load_scene(path.string(), {});
  EXPECT_EQ(scene.test.size(), 3U);
  EXPECT_EQ(scene.test[0].name, original[0].name + ".png") << "the first by name, and every eighth";
  Trainer trainer(scene, small_config(), small_plan(), 1);
  double first = 0, last = 0;
  for (int i = 0; i < 60; ++i) {
    last = trainer.step(0).loss;
    if (i == 0) first = last;
    ASSERT_TRUE(std::isfinite(last));
  }
  EXPECT_LT(last, 0.5 * first);
}

TEST_F(Colmap, IsFoundInItsFolders) {
  for (const char* folder : {".", "sparse", "sparse/0", "colmap/sparse/0"}) {
    write(false, folder);
    EXPECT_EQ(load_scene(path.string(), {.holdout = 0}).train.size(), 24U) << folder;
    // The model's own folder may be named too; pictures are looked for above it.
    EXPECT_EQ(load_scene((path / folder).string(), {.holdout = 0}).train.size(), 24U) << folder;
    for (const char* name : {"cameras.txt", "images.txt", "points3D.txt"}) fs::remove(path / folder / name);
  }
  EXPECT_NE(error().find("holds 24 photographs and no poses"), std::string::npos) << error();
}

TEST_F(Colmap, SaysThatOtherModelsLieNextToTheOneThatIsRead) {
  const auto notes = [&](const fs::path& scene) {
    std::string all;
    for (const std::string& note : load_scene(scene.string(), {.holdout = 0}).notes) all += note + "\n";
    return all;
  };
  write(false, "sparse/0");
  EXPECT_EQ(notes(path).find("models lie in"), std::string::npos);
  write(true, "sparse/1");
  EXPECT_NE(notes(path).find("sparse: 0 is read, which has 24 images"), std::string::npos) << notes(path);
  EXPECT_NE(notes(path).find("another one is read if it is named"), std::string::npos);
  EXPECT_NE(notes(path / "sparse/1").find("sparse: 1 is read"), std::string::npos);
}

TEST_F(Colmap, AMissingFileOfAModelIsNamed) {
  for (const bool binary : {false, true}) {
    fs::remove_all(path / "sparse");
    write(binary);
    const std::string ending = binary ? ".bin" : ".txt";
    fs::remove(path / "sparse/0" / ("cameras" + ending));
    EXPECT_NE(error().find("sparse/0/cameras" + ending + ": no such file"), std::string::npos) << error();
  }
}

TEST_F(Colmap, ImagesWithoutAPictureAreCounted) {
  write(true);
  fs::remove(path / "images" / (original[5].name + ".png"));
  const Scene scene = load_scene(path.string(), {.holdout = 0});
  EXPECT_EQ(scene.train.size(), 23U);
  EXPECT_TRUE(noted(scene, "images.bin: 1 of 24 frames have no picture"));
  fs::remove_all(path / "images");
  EXPECT_NE(error().find("none of its 24 images has a usable picture"), std::string::npos) << error();
}

TEST_F(Colmap, UsesSmallerCopiesIfPresent) {
  write(false);
  pictures("images_2", 2);
  const Scene halved = load_scene(path.string(), {.downscale = 2, .holdout = 0});
  EXPECT_TRUE(noted(halved, "24 pictures are read from smaller copies"));
  EXPECT_EQ(halved.train[3].image.rgba, downscale(original[3].image, 2).rgba);
  EXPECT_NEAR(halved.train[3].camera.fx, original[3].camera.fx / 2, 1e-4);
  const Scene quartered = load_scene(path.string(), {.downscale = 4, .holdout = 0});
  EXPECT_EQ(quartered.train[3].image.width, 5);
  EXPECT_NEAR(quartered.train[3].camera.cx, original[3].camera.cx / 4, 1e-4);
  fs::remove_all(path / "images_2");
  EXPECT_EQ(load_scene(path.string(), {.downscale = 2, .holdout = 0}).train[3].image.rgba,
            halved.train[3].image.rgba);
}

TEST_F(Colmap, MaskedPixelsDoNotCount) {
  write(false);
  fs::create_directories(path / "masks");
  std::vector<uint8_t> mask(20 * 20, 255);
  for (size_t i = 0; i < 100; ++i) mask[i] = 0;  // the upper quarter
  save_png(path / "masks" / (original[2].name + ".png.png"), 20, 20, 1, mask);
  const Scene scene = load_scene(path.string(), {.holdout = 0});
  EXPECT_EQ(scene.masks, 1);
  EXPECT_EQ(scene.train[0].with_ray, nullptr);
  ASSERT_NE(scene.train[2].with_ray, nullptr);
  ASSERT_EQ(scene.train[2].with_ray->size(), 300U);
  EXPECT_EQ(scene.train[2].with_ray->front(), 100);
  EXPECT_TRUE(noted(scene, "100 of 400 pixels in 1 views are masked"));
  // Only blocks without a masked pixel count: 5 of 20 rows are 1 of 5 and a part of the second.
  const Scene small = load_scene(path.string(), {.downscale = 4, .holdout = 0});
  EXPECT_EQ(small.train[2].with_ray->size(), 15U);
  std::ranges::fill(mask, uint8_t(0));
  save_png(path / "masks" / (original[2].name + ".png.png"), 20, 20, 1, mask);
  EXPECT_EQ(load_scene(path.string(), {.holdout = 0}).train.size(), 23U)
      << "a view that is all masked is left out";
  save_png(path / "masks" / (original[2].name + ".png.png"), 20, 10, 1, std::vector<uint8_t>(200, 255));
  EXPECT_NE(error().find("does not fit its picture of 20x20"), std::string::npos) << error();
}

TEST_F(Colmap, PointsMayBeMissingOrNone) {
  write(false);
  fs::remove(path / "sparse/0/points3D.txt");
  const Scene without = load_scene(path.string(), {.holdout = 0});
  EXPECT_TRUE(noted(without, "has no points3D.txt"));
  EXPECT_EQ(without.cascades, 3) << "nothing says how far the scene reaches";
  model.points.clear();
  write(false);
  EXPECT_TRUE(noted(load_scene(path.string(), {.holdout = 0}), "points holds none"));
  model.points = {{{1, 2, 3}, {}}, {{NAN, 2, 3}, {}}, {{1e30F, 0, 0}, {}}};
  for (const bool binary : {false, true}) {
    write(binary);
    const Scene scene = load_scene(path.string(), {.holdout = 0});
    EXPECT_EQ(scene.points.size(), 1U);
    EXPECT_TRUE(noted(scene, "2 points have coordinates that are no places"));
  }
}

TEST_F(Colmap, ReadsEverySupportedLens) {
  const std::vector<std::pair<const char*, std::vector<double>>> lenses = {
      {"SIMPLE_PINHOLE", {28, 10, 10}},
      {"PINHOLE", {28, 29, 10, 11}},
      {"SIMPLE_RADIAL", {28, 10, 10, 0.01}},
      {"RADIAL", {28, 10, 10, 0.01, -0.02}},
      {"OPENCV", {28, 29, 10, 11, 0.01, -0.02, 1e-3, -2e-3}},
      {"OPENCV_FISHEYE", {28, 29, 10, 11, 0.01, -0.02, 1e-3, -2e-3}},
      {"FULL_OPENCV", {28, 29, 10, 11, 0.01, -0.02, 1e-3, -2e-3, 0, 0, 0, 0}},
      {"SIMPLE_RADIAL_FISHEYE", {28, 10, 10, 0.01}},
      {"RADIAL_FISHEYE", {28, 10, 10, 0.01, -0.02}}};
  const std::map<std::string, int> numbers = {
      {"SIMPLE_PINHOLE", 0}, {"PINHOLE", 1},        {"SIMPLE_RADIAL", 2}, {"RADIAL", 3},
      {"OPENCV", 4},         {"OPENCV_FISHEYE", 5}, {"FULL_OPENCV", 6},   {"SIMPLE_RADIAL_FISHEYE", 8},
      {"RADIAL_FISHEYE", 9}};
  for (const auto& [name, parameters] : lenses)
    for (const bool binary : {false, true}) {
      WrittenCamera& c = model.cameras[0];
      c.model = name;
      c.number = numbers.at(name);
      c.parameters = parameters;
      fs::remove_all(path / "sparse");
      write(binary);
      const ColmapModel read = read_colmap(path / "sparse/0");
      const ColmapCamera& camera = read.cameras.at(1);
      const bool two = parameters[1] == 29, fisheye = c.model.find("FISHEYE") != std::string::npos;
      EXPECT_EQ(camera.model, name);
      EXPECT_FLOAT_EQ(camera.lens.camera.fx, 28);
      EXPECT_FLOAT_EQ(camera.lens.camera.fy, two ? 29 : 28);
      EXPECT_FLOAT_EQ(camera.lens.camera.cy, two ? 11 : 10);
      EXPECT_EQ(camera.lens.fisheye.has_value(), fisheye);
      const size_t first = two ? 4 : 3;
      const float k1 = fisheye ? (*camera.lens.fisheye)[0] : camera.lens.camera.k1;
      EXPECT_FLOAT_EQ(k1, parameters.size() > first ? 0.01F : 0.F) << name;
      EXPECT_FLOAT_EQ(fisheye ? 0 : camera.lens.camera.p2,
                      c.model.find("OPENCV") != std::string::npos && !fisheye ? -2e-3F : 0.F)
          << name;
      EXPECT_EQ(load_scene(path.string(), {.holdout = 0}).train.size(), 24U);
    }
}

struct WrongModel {
  const char* says;
  std::function<void(WrittenModel&)> change;
  const char* file;
};

TEST_F(Colmap, NamesErrors) {
  const std::vector<WrongModel> wrongs = {
      {"camera model 'FOV' (known are SIMPLE_PINHOLE, PINHOLE, SIMPLE_RADIAL",
       [](WrittenModel& m) { m.cameras[0].model = "FOV", m.cameras[0].number = 7; }, "cameras"},
      {"fx of the camera PINHOLE", [](WrittenModel& m) { m.cameras[0].parameters[0] = NAN; }, "cameras"},
      {"cx of the camera PINHOLE", [](WrittenModel& m) { m.cameras[0].parameters[2] = 1e30; }, "cameras"},
      {"a side must be from 1", [](WrittenModel& m) { m.cameras[0].width = 0; }, "cameras"},
      {"a side must be from 1", [](WrittenModel& m) { m.cameras[0].height = uint64_t(1) << 40; }, "cameras"},
      {"is there twice", [](WrittenModel& m) { m.cameras.push_back(m.cameras[0]); }, "cameras"},
      {"camera 9, which the model does not have", [](WrittenModel& m) { m.images[3].camera = 9; }, "images"},
      {"its rotation has the length 0", [](WrittenModel& m) { m.images[3].rotation = {}; }, "images"},
      {"its rotation has the length nan", [](WrittenModel& m) { m.images[3].rotation[1] = NAN; }, "images"},
      {"its translation must be numbers", [](WrittenModel& m) { m.images[3].translation[1] = INFINITY; },
       "images"},
      {"is there twice", [](WrittenModel& m) { m.images.push_back(m.images[0]); }, "images"},
      {"its name is no name of a file", [](WrittenModel& m) { m.images[3].name.clear(); }, "images"},
      {"holds no image", [](WrittenModel& m) { m.images.clear(); }, "images"}};
  const WrittenModel good = model;
  for (const WrongModel& wrong : wrongs)
    for (const bool binary : {false, true}) {
      model = good;
      wrong.change(model);
      fs::remove_all(path / "sparse");
      write(binary);
      const std::string message = error();
      EXPECT_NE(message.find(wrong.says), std::string::npos) << wrong.says << ": " << message;
      EXPECT_NE(message.find(std::string(wrong.file) + (binary ? ".bin" : ".txt")), std::string::npos)
          << message;
    }
}

/// Wherever a file ends too early, and whatever it claims to contain, the message names it.
TEST_F(Colmap, CutFilesAreErrors) {
  model.images.resize(3);
  model.points.resize(3);
  write(true);
  for (const char* name : {"cameras.bin", "images.bin", "points3D.bin"}) {
    const fs::path file = path / "sparse/0" / name;
    std::ifstream in(file, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    for (size_t length = 0; length < whole.size(); ++length) {
      write_text(file, whole.substr(0, length));
      ASSERT_NE(error().find(name), std::string::npos) << length << ": " << error();
    }
    write_text(file, whole + "x");
    EXPECT_NE(error().find("1 bytes behind its last record"), std::string::npos) << error();
    std::string counts = whole;
    counts[5] = '\x7f';
    write_text(file, counts);
    EXPECT_NE(error().find("has room for"), std::string::npos) << error();
    write_text(file, whole);
  }
  for (const char* name : {"cameras.bin", "images.bin"}) {
    fs::rename(path / "sparse/0" / name, path / "aside");
    EXPECT_NE(error(), "") << name;
    fs::rename(path / "aside", path / "sparse/0" / name);
  }
  EXPECT_EQ(error(), "");
}

TEST_F(Colmap, NamesBadLinesByNumber) {
  write(false);
  write_text(path / "sparse/0/cameras.txt", "# a comment\n\n1 PINHOLE 20 20 28 28 ten 10\n");
  EXPECT_NE(error().find("cameras.txt: line 3: a parameter must be a number, found 'ten'"), std::string::npos)
      << error();
  write_text(path / "sparse/0/cameras.txt", "1 PINHOLE 20 20 28 28 10\n");
  EXPECT_NE(error().find("has 4 parameters, found 3"), std::string::npos) << error();
  write(false);
  write_text(path / "sparse/0/points3D.txt", "1 0 0 0 300 0 0 0.5\n");
  EXPECT_NE(error().find("points3D.txt: line 1: a color must be from 0 to 255"), std::string::npos)
      << error();
}

// Points were made from the first view, and both forms say that the first image shows all of them.
TEST_F(Colmap, PointsThatAnImageShowsAreItsDepth) {
  for (const bool binary : {false, true}) {
    write(binary);
    const Scene scene = load_scene(path.string(), {.holdout = 0, .depth = true});
    const View &view = scene.train.front(), &truth = original.front();
    ASSERT_EQ(view.depth.size(), truth.depth.size());
    int64_t known = 0;
    for (size_t i = 0; i < view.depth.size(); ++i) {
      if (view.depth[i] == 0) continue;
      ++known;
      EXPECT_NEAR(view.depth[i] / (float(moved.scale) * scene.scale), truth.depth[i], 2e-3);
    }
    EXPECT_GT(known, 10);
    EXPECT_TRUE(noted(scene, "measured depth of"));
    EXPECT_TRUE(scene.train[5].depth.empty());
    EXPECT_TRUE(load_scene(path.string(), {.holdout = 0}).train.front().depth.empty());
    fs::remove_all(path / "sparse");
  }
}

}  // namespace
}  // namespace klab
