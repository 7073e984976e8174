// Small sound scenes of every form, for tests that break them.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/radiance/colmap_folder.h"

namespace klab {

using nlohmann::json;

inline json small_scene(const fs::path& folder) {
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

/// A scene with lists of files, points, a mask and a lens of wide angle.
inline json nerfstudio_scene(const fs::path& folder) {
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
  write_text(folder / "points.ply",
             "ply\nformat ascii 1.0\nelement vertex 2\nproperty float x\nproperty float y\nproperty float "
             "z\nend_header\n"
             "0 0 0\n1 1 1\n");
  return document;
}

/// Three pinholes around the origin, a point for each, and their pictures.
inline WrittenModel small_colmap(const fs::path& folder) {
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

/// A cloud of three points, as a binary file and as text.
inline std::pair<std::string, std::string> small_clouds() {
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
  return {with("binary_little_endian") + body.bytes,
          with("ascii") + "0 0 1.5 1 2 3 -4\n1 2 1.5 1 2 3 -4\n2 4 1.5 1 2 3 -4\n"};
}

}  // namespace klab
