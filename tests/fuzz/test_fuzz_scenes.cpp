// Broken scenes, pictures and Gaussians, as test_fuzz.cpp for other files.
// ctest: sanitized
#include "labs/radiance/scene/scene.h"
#include "labs/radiance/splat/splat_file.h"
#include "labs/radiance/splat/webp_picture.h"
#include "labs/radiance/splat/zip_file.h"
#include "labs/radiance/splat/zstd_stream.h"
#include "tests/fuzz/fuzz_fixture.h"
#include "tests/fuzz/small_scenes.h"
#include "tests/radiance/jpeg_file.h"

namespace klab {
namespace {

void expect_sound(const Scene& scene) {
  for (const auto* set : {&scene.train, &scene.test})
    for (const View& v : *set) {
      const auto w = float(v.camera.width), h = float(v.camera.height);
      ASSERT_EQ(v.image.rgba.size(), size_t(v.camera.width) * size_t(v.camera.height) * 4);
      for (const auto& [x, y] : {std::pair{0.5F, 0.5F}, {w - 0.5F, 0.5F}, {0.5F, h - 0.5F}, {w / 2, h / 2}}) {
        const Ray ray = v.camera.ray(x, y);
        for (const float f :
             {ray.origin.x, ray.origin.y, ray.origin.z, ray.direction.x, ray.direction.y, ray.direction.z})
          ASSERT_TRUE(std::isfinite(f));
        ASSERT_NEAR(length(ray.direction), 1, 1e-4);
      }
    }
}

TEST_F(Fuzz, Scenes) {
  const json document = small_scene(folder);
  broken_inputs([&](Mutator& m) {
    write("transforms.json", m.json(document));
    expect_sound(load_scene(folder.string(), {}));
  });
}

TEST_F(Fuzz, Pngs) {
  small_scene(folder);
  const std::string file = read(folder / "v0.png");
  broken_inputs([&](Mutator& m) {
    const fs::path at = write("x.png", m.png(file));
    const ImageSize size = image_size(at);
    if (int64_t(size.width) * size.height > 4'000'000) throw std::runtime_error("left out, for time");
    const Image image = load_image(at);
    ASSERT_EQ(image.rgba.size(), size_t(image.width) * size_t(image.height) * 4);
  });
}

std::string small_jpeg() {
  std::vector<uint8_t> rgb;
  for (size_t y = 0; y < 16; ++y)
    for (size_t k = 0; k < 48; ++k) rgb.push_back(uint8_t(y * 13 + k * 5));
  return jpeg_of(16, 16, rgb, 50, 6);
}

TEST_F(Fuzz, Jpegs) {
  const std::string file = small_jpeg();
  broken_inputs([&](Mutator& m) {
    const fs::path at = write("x.jpg", m.bytes(file));
    const ImageSize size = image_size(at);
    if (int64_t(size.width) * size.height > 4'000'000) throw std::runtime_error("left out, for time");
    const Image image = load_image(at, {.reduce = 1 + int(m.below(4)), .as_stored = m.below(2) == 0});
    ASSERT_EQ(image.rgba.size(), size_t(image.width) * size_t(image.height) * 4);
  });
}

/// One of the three files is changed. The scene is read as it is, or as pinholes.
void expect_sound_points(const Scene& scene) {
  for (const ScenePoint& p : scene.points)
    ASSERT_TRUE(std::isfinite(p.position.x) && std::isfinite(p.position.y) && std::isfinite(p.position.z));
  ASSERT_TRUE(std::isfinite(scene.scale) && scene.scale > 0);
}

TEST_F(Fuzz, ColmapBinary) {
  write_colmap_binary(folder / "sparse/0", small_colmap(folder));
  const char* names[] = {"cameras.bin", "images.bin", "points3D.bin"};
  std::string files[3];
  for (size_t k = 0; k < 3; ++k) files[k] = read(folder / "sparse/0" / names[k]);
  broken_inputs([&](Mutator& m) {
    const size_t broken = m.below(3);
    for (size_t k = 0; k < 3; ++k)
      write(std::string("sparse/0/") + names[k], k == broken ? m.bytes(files[k]) : files[k]);
    const Scene scene = load_scene(folder.string(), {.pinhole = m.below(2) == 0});
    expect_sound(scene);
    expect_sound_points(scene);
  });
}

TEST_F(Fuzz, ColmapText) {
  write_colmap_text(folder / "sparse/0", small_colmap(folder));
  const char* names[] = {"cameras.txt", "images.txt", "points3D.txt"};
  std::string files[3];
  for (size_t k = 0; k < 3; ++k) files[k] = read(folder / "sparse/0" / names[k]);
  broken_inputs([&](Mutator& m) {
    const size_t broken = m.below(3);
    for (size_t k = 0; k < 3; ++k)
      write(std::string("sparse/0/") + names[k], k == broken ? m.bytes(files[k]) : files[k]);
    const Scene scene = load_scene(folder.string(), {});
    expect_sound(scene);
    expect_sound_points(scene);
  });
}

TEST_F(Fuzz, NerfstudioScenes) {
  const json document = nerfstudio_scene(folder);
  broken_inputs([&](Mutator& m) {
    write("transforms.json", m.json(document));
    const Scene scene = load_scene(folder.string(), {});
    expect_sound(scene);
    expect_sound_points(scene);
  });
}

TEST_F(Fuzz, CloudsOfPoints) {
  const auto [binary, text] = small_clouds();
  broken_inputs([&](Mutator& m) {
    const PointCloud cloud = read_point_cloud(write("x.ply", m.bytes(m.below(2) == 0 ? binary : text)));
    for (const ScenePoint& p : cloud.points) ASSERT_TRUE(std::isfinite(length(p.position)));
  });
}

TEST_F(Fuzz, Gaussians) {
  save_gaussians(folder / "whole.ply", random_gaussians(5, 1, 1), {});
  const std::string file = read(folder / "whole.ply");
  broken_inputs([&](Mutator& m) {
    GaussianSet set = load_gaussians(write("x.ply", m.bytes(file)), {});
    ASSERT_GT(set.n, 0);
    for (const std::vector<float>* values : set.tensors())
      for (const float v : *values) ASSERT_TRUE(std::isfinite(v));
  });
}

TEST_F(Fuzz, Splats) {
  save_splat(folder / "whole.splat", random_gaussians(5, 0, 1), {});
  const std::string file = read(folder / "whole.splat");
  broken_inputs([&](Mutator& m) {
    GaussianSet set = load_gaussians(write("x.splat", m.bytes(file)), {});
    ASSERT_GT(set.n, 0);
    for (const std::vector<float>* values : set.tensors())
      for (const float v : *values) ASSERT_TRUE(std::isfinite(v));
  });
}

TEST_F(Fuzz, CompressedSplats) {
  save_gaussians(folder / "whole.spz", random_gaussians(5, 1, 1), {});
  const std::string file = read(folder / "whole.spz");
  broken_inputs([&](Mutator& m) {
    GaussianSet set = load_gaussians(write("x.spz", m.bytes(file)), {});
    ASSERT_GT(set.n, 0);
    for (const std::vector<float>* values : set.tensors())
      for (const float v : *values) ASSERT_TRUE(std::isfinite(v));
  });
}

TEST_F(Fuzz, CompressedSplatsOfVersion4) {
  if (!has_zstd()) GTEST_SKIP() << "klab was built without libzstd-dev";
  save_gaussians(folder / "whole.spz", random_gaussians(5, 1, 1), {}, nullptr, 4);
  const std::string file = read(folder / "whole.spz");
  broken_inputs([&](Mutator& m) {
    GaussianSet set = load_gaussians(write("x.spz", m.bytes(file)), {});
    ASSERT_GT(set.n, 0);
    for (const std::vector<float>* values : set.tensors())
      for (const float v : *values) ASSERT_TRUE(std::isfinite(v));
  });
}

TEST_F(Fuzz, SpatiallyOrderedSplats) {
  if (!has_webp()) GTEST_SKIP() << "klab was built without libwebp-dev";
  save_gaussians(folder / "whole.sog", random_gaussians(5, 1, 1), {});
  const std::string file = read(folder / "whole.sog");
  const std::map<std::string, std::vector<uint8_t>> whole = read_zip(folder / "whole.sog");
  const json meta = json::parse(whole.at("meta.json"));
  broken_inputs([&](Mutator& m) {
    if (m.below(3) == 0) {
      write("x.sog", m.bytes(file));
    } else {  // with checksums that are right
      std::map<std::string, std::vector<uint8_t>> files = whole;
      auto part = files.begin();
      std::advance(part, std::ptrdiff_t(m.below(files.size())));
      const std::string text =
          part->first == "meta.json" ? m.json(meta) : m.bytes({part->second.begin(), part->second.end()});
      part->second.assign(text.begin(), text.end());
      write_zip(folder / "x.sog", {files.begin(), files.end()});
    }
    GaussianSet set = load_gaussians(folder / "x.sog", {});
    ASSERT_GT(set.n, 0);
    for (const std::vector<float>* values : set.tensors())
      for (const float v : *values) ASSERT_TRUE(std::isfinite(v));
  });
}

}  // namespace
}  // namespace klab
