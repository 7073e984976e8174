// Broken scenes, pictures and Gaussians, as test_fuzz.cpp for other files.
// ctest: sanitized
#include "labs/radiance/scene/scene.h"
#include "labs/radiance/splat/splat_file.h"
#include "tests/fuzz/fuzz_fixture.h"
#include "tests/radiance/colmap_folder.h"
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

json small_scene(const fs::path& folder) {
  json document = {{"camera_angle_x", 0.7},
                   {"k1", 0.05},
                   {"k2", -0.08},
                   {"p1", 1e-3},
                   {"w", 16},
                   {"h", 12},
                   {"cx", 8.5},
                   {"cy", 6},
                   {"aabb_scale", 4},
                   {"scale", 0.4},
                   {"offset", {0.5, 0.5, 0.5}},
                   {"frames", json::array()}};
  for (int i = 0; i < 3; ++i) {
    const std::string name = "v" + std::to_string(i) + ".png";
    std::vector<uint8_t> pixels(size_t(16 * 12 * 3));
    for (size_t k = 0; k < pixels.size(); ++k) pixels[k] = uint8_t(k * 31 + size_t(i));
    save_png(folder / name, 16, 12, 3, pixels);
    const float c = std::cos(float(i)), s = std::sin(float(i));
    document["frames"].push_back(
        {{"file_path", name},
         {"transform_matrix", {{c, 0, s, 4 * s}, {0, 1, 0, 0}, {-s, 0, c, 4 * c}, {0, 0, 0, 1}}}});
  }
  return document;
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

/// Three pinholes around the origin, a point for each, and their pictures.
WrittenModel small_colmap(const fs::path& folder) {
  small_scene(folder);  // the pictures v0.png, v1.png, v2.png
  WrittenModel model;
  model.cameras.push_back({.number = 4,
                           .model = "OPENCV",
                           .width = 16,
                           .height = 12,
                           .parameters = {20, 20, 8, 6, 0.05, -0.08, 1e-3, 0}});
  for (int i = 0; i < 3; ++i) {
    WrittenImage image{.name = "v" + std::to_string(i) + ".png"};
    set_pose(image, look_at({4 * std::cos(float(i)), 4 * std::sin(float(i)), 1}, {0, 0, 0}, 16, 12, 0.7F),
             {});
    model.images.push_back(image);
    model.points.push_back({{0.1F * float(i), 0.2F, 0.3F}, {uint8_t(i), 2, 3}});
  }
  return model;
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
  json document = small_scene(folder);
  for (const char* key : {"aabb_scale", "scale", "offset", "p1"}) document.erase(key);
  document["camera_model"] = "OPENCV_FISHEYE";
  document["k3"] = 0.01, document["k4"] = -0.001;
  document["fl_x"] = 20;
  document["applied_transform"] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}};
  document["ply_file_path"] = "points.ply";
  document["train_filenames"] = {"v0.png", "v1.png"};
  document["test_filenames"] = {"v2.png"};
  document["frames"][0]["mask_path"] = "mask.png";
  std::vector<uint8_t> mask(size_t(16 * 12), 255);
  mask[5] = 0;
  save_png(folder / "mask.png", 16, 12, 1, mask);
  write("points.ply",
        "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float "
        "z\nend_header\n"
        "0 0 0\n1 1 1\n");
  broken_inputs([&](Mutator& m) {
    write("transforms.json", m.json(document));
    const Scene scene = load_scene(folder.string(), {});
    expect_sound(scene);
    expect_sound_points(scene);
  });
}

TEST_F(Fuzz, CloudsOfPoints) {
  std::string head =
      "ply\nformat {} 1.0\nelement vertex 3\nproperty float x\nproperty double y\nproperty float z\nproperty "
      "uchar "
      "red\nproperty uchar green\nproperty uchar blue\nproperty short n\nend_header\n";
  Binary body;
  for (int i = 0; i < 3; ++i)
    body.add(float(i))
        .add(double(2 * i))
        .add(1.5F)
        .add(uint8_t(1))
        .add(uint8_t(2))
        .add(uint8_t(3))
        .add(int16_t(-4));
  const auto with = [&](const std::string& format) {
    return std::string(head).replace(head.find("{}"), 2, format);
  };
  const std::string binary = with("binary_little_endian") + body.bytes,
                    text = with("ascii") + "0 0 1.5 1 2 3 -4\n1 2 1.5 1 2 3 -4\n2 4 1.5 1 2 3 -4\n";
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

}  // namespace
}  // namespace klab
