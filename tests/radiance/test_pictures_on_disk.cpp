// Pictures that are left on the disk are the same, pixel by pixel and with the same pixels that count, as
// those that are read at once: turned upright, made smaller, masked, resampled.
// ctest: sanitized
#include "labs/radiance/train/picture_pool.h"
#include "tests/radiance/colmap_folder.h"
#include "tests/radiance/jpeg_file.h"
#include "tests/radiance/scene_folder.h"

namespace klab {
namespace {

using PicturesOnDisk = SceneOptions::Pictures;

class OnDisk : public SceneFolder {
 protected:
  /// nerfstudio's form: eight JPEG files 24 wide and 16 high, some of which are marked as rotated.
  void SetUp() override {
    SceneFolder::SetUp();
    fs::create_directories(path / "images");
    document = {
        {"camera_model", "OPENCV"}, {"fl_x", 30}, {"fl_y", 31}, {"cx", 12}, {"cy", 8}, {"w", 24}, {"h", 16},
        {"frames", json::array()}};
    for (int i = 0; i < 8; ++i) {
      const std::string name = fmt::format("images/frame_{}.jpg", i);
      std::vector<uint8_t> rgb(size_t(24 * 16 * 3));
      for (size_t k = 0; k < rgb.size(); ++k) rgb[k] = uint8_t((k * 7 + size_t(i) * 31) % 251);
      write_text(path / name, jpeg_of(24, 16, rgb, 95, i % 3 == 0 ? 6 : 0));
      document["frames"].push_back({{"file_path", name}, {"transform_matrix", pose(0.4F * float(i))}});
    }
  }
  void add_masks() {
    std::vector<uint8_t> mask(24 * 16, 255);
    std::fill(mask.begin(), mask.begin() + 100, uint8_t(0));
    save_png(path / "mask.png", 24, 16, 1, mask);
    for (const int i : {1, 2, 5}) document["frames"][size_t(i)]["mask_path"] = "mask.png";
  }
  /// Loads the scene both ways and compares the views.
  void expect_the_same(SceneOptions options, bool some_do_not_count) {
    write("transforms.json");
    const Scene now = load_scene(path.string(), options);
    options.pictures = PicturesOnDisk::on_disk;
    Scene later = load_scene(path.string(), options);
    ASSERT_EQ(now.train.size(), later.train.size());
    EXPECT_EQ(now.test.size(), later.test.size());
    EXPECT_EQ(now.notes, later.notes);
    EXPECT_EQ(bytes_of(now), bytes_of(later));
    bool some = false;
    for (size_t i = 0; i < now.train.size(); ++i) {
      const View &a = now.train[i], &b = later.train[i];
      ASSERT_TRUE(b.image.rgba.empty());
      ASSERT_NE(b.source, nullptr);
      EXPECT_EQ(a.camera.width, b.camera.width);
      EXPECT_EQ(a.pixels(), b.pixels());
      const Image picture = b.picture();
      EXPECT_EQ(picture.rgba, a.image.rgba) << b.name;
      EXPECT_EQ(picture.has_alpha, a.image.has_alpha);
      EXPECT_LE(int64_t(picture.rgba.size()), b.source->bytes_to_read);
      ASSERT_EQ(a.with_ray == nullptr, b.with_ray == nullptr) << b.name;
      if (a.with_ray) EXPECT_EQ(*a.with_ray, *b.with_ray) << b.name;
      some = some || a.with_ray;
    }
    EXPECT_EQ(some, some_do_not_count);
    const PicturePool pool(later.train, {.resident = 3, .ahead = 1, .workers = 2});
    for (const PicturePool::Place& p : pool.places()) {
      const std::vector<uint8_t>& expected = now.train[size_t(p.view)].image.rgba;
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), pool.pixels() + 4 * p.first_pixel)) << p.view;
    }
    size_t told = 0;
    load_pictures(later.train, [&](size_t done, size_t all) {
      EXPECT_EQ(all, now.train.size());
      told = std::max(told, done);
    });
    EXPECT_EQ(told, now.train.size());
    for (size_t i = 0; i < now.train.size(); ++i)
      EXPECT_EQ(later.train[i].image.rgba, now.train[i].image.rgba);
  }
};

TEST_F(OnDisk, AsTheyAreStored) { expect_the_same({}, false); }

TEST_F(OnDisk, TurnedUpright) {
  document["w"] = 16, document["h"] = 24;
  for (size_t i = 0; i < 8; ++i) {
    std::vector<uint8_t> rgb(size_t(24 * 16 * 3), uint8_t(20 * i));
    rgb[3] = 200;
    write_text(path / fmt::format("images/frame_{}.jpg", i), jpeg_of(24, 16, rgb, 95, i % 2 == 0 ? 6 : 8));
  }
  expect_the_same({.holdout = 0}, false);
}

TEST_F(OnDisk, MadeSmaller) {
  expect_the_same({.downscale = 2}, false);
  expect_the_same({.downscale = 3}, false);
}

TEST_F(OnDisk, BehindMasks) {
  add_masks();
  expect_the_same({.holdout = 0}, true);
  expect_the_same({.downscale = 2, .holdout = 0}, true);
}

TEST_F(OnDisk, ResampledAndMasked) {
  document["camera_model"] = "OPENCV_FISHEYE";
  document["k1"] = 0.8, document["k2"] = 0.1;
  expect_the_same({.holdout = 0}, true);
  add_masks();
  expect_the_same({.holdout = 0}, true);
  expect_the_same({.downscale = 2, .holdout = 0}, true);
}

TEST_F(OnDisk, ALensUndoneOnDemand) {
  document["k1"] = 0.5;
  expect_the_same({.holdout = 0, .pinhole = true}, true);
}

TEST_F(OnDisk, NamesAPictureThatChanged) {
  write("transforms.json");
  const Scene scene = load_scene(path.string(), {.holdout = 0, .pictures = PicturesOnDisk::on_disk});
  write_text(path / "images/frame_2.jpg", jpeg_of(8, 8, std::vector<uint8_t>(8 * 8 * 3), 95));
  try {
    scene.train[2].picture();
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_NE(std::string(e.what()).find("frame_2.jpg: is 8x8 now and was 24x16 before"), std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace klab
