// COLMAP models for tests, written as text and as binary files from COLMAP's documentation.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "labs/radiance/scene/scene.h"
#include "tests/core/temp_folder.h"

namespace klab {

namespace fs = std::filesystem;

struct WrittenCamera {
  uint32_t id = 1;
  int number = 1;  // of the model
  std::string model = "PINHOLE";
  uint64_t width = 0, height = 0;
  std::vector<double> parameters;
};

struct WrittenImage {
  std::string name;
  std::array<double, 4> rotation{1, 0, 0, 0};  // w first, world to camera
  std::array<double, 3> translation{};
  uint32_t camera = 1;
};

struct WrittenModel {
  std::vector<WrittenCamera> cameras;
  std::vector<WrittenImage> images;
  std::vector<ScenePoint> points;
};

/// A similarity of the world: x becomes scale · turn · x + shift.
struct Moved {
  double scale = 1;
  std::array<double, 9> turn{1, 0, 0, 0, 1, 0, 0, 0, 1};
  std::array<double, 3> shift{};
  std::array<double, 3> operator()(Vec3 v, double length = 1) const {
    std::array<double, 3> out{};
    for (size_t r = 0; r < 3; ++r)
      out[r] = length * scale * (turn[3 * r] * v.x + turn[3 * r + 1] * v.y + turn[3 * r + 2] * v.z) +
               length * shift[r];
    return out;
  }
  std::array<double, 3> direction(Vec3 v) const { return Moved{1, turn, {}}(v); }
};

/// World to camera, y down and z forward, of a camera of ours whose world is moved.
inline void set_pose(WrittenImage& image, const Camera& c, const Moved& moved) {
  const std::array<double, 3> rows[3] = {moved.direction(c.axis(0)), moved.direction(-1.0F * c.axis(1)),
                                         moved.direction(-1.0F * c.axis(2))};
  const std::array<double, 3> at = moved(c.position());
  double R[9];
  for (size_t r = 0; r < 3; ++r) {
    image.translation[r] = 0;
    for (size_t k = 0; k < 3; ++k) {
      R[3 * r + k] = rows[r][k];
      image.translation[r] -= rows[r][k] * at[k];
    }
  }
  // A unit quaternion from its largest component.
  const double squares[4] = {1 + R[0] + R[4] + R[8], 1 + R[0] - R[4] - R[8], 1 - R[0] + R[4] - R[8],
                             1 - R[0] - R[4] + R[8]};
  const double products[4][4] = {{squares[0], R[7] - R[5], R[2] - R[6], R[3] - R[1]},
                                 {R[7] - R[5], squares[1], R[1] + R[3], R[2] + R[6]},
                                 {R[2] - R[6], R[1] + R[3], squares[2], R[5] + R[7]},
                                 {R[3] - R[1], R[2] + R[6], R[5] + R[7], squares[3]}};
  const size_t largest = size_t(std::max_element(squares, squares + 4) - squares);
  for (size_t k = 0; k < 4; ++k) image.rotation[k] = products[largest][k] / (2 * std::sqrt(squares[largest]));
}

inline void write_text(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

inline void write_colmap_text(const fs::path& folder, const WrittenModel& model) {
  std::string cameras = "# Camera list with one line of data per camera:\n", images = "# Image list\n",
              points = "# 3D point list\n";
  for (const WrittenCamera& c : model.cameras) {
    cameras += fmt::format("{} {} {} {}", c.id, c.model, c.width, c.height);
    for (const double p : c.parameters) cameras += fmt::format(" {}", p);
    cameras += "\n";
  }
  int id = 1;
  for (const WrittenImage& i : model.images) {
    const auto& q = i.rotation;
    const auto& t = i.translation;
    images += fmt::format("{} {} {} {} {} {} {} {} {} {}\n", id, q[0], q[1], q[2], q[3], t[0], t[1], t[2],
                          i.camera, i.name);
    images += id++ % 2 == 0 ? "\n" : "1.5 2.5 1 3.5 4.5 -1\n";
  }
  id = 1;
  for (const ScenePoint& p : model.points)
    points += fmt::format("{} {} {} {} {} {} {} 0.5 1 0 2 1\n", id++, p.position.x, p.position.y,
                          p.position.z, p.rgb[0], p.rgb[1], p.rgb[2]);
  write_text(folder / "cameras.txt", cameras);
  write_text(folder / "images.txt", images);
  write_text(folder / "points3D.txt", points);
}

/// Little-endian numbers, one behind the other.
class Binary {
 public:
  template <class T>
  Binary& add(T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  std::string bytes;
};

inline void write_colmap_binary(const fs::path& folder, const WrittenModel& model) {
  Binary cameras, images, points;
  cameras.add(uint64_t(model.cameras.size()));
  for (const WrittenCamera& c : model.cameras) {
    cameras.add(c.id).add(int32_t(c.number)).add(c.width).add(c.height);
    for (const double p : c.parameters) cameras.add(p);
  }
  images.add(uint64_t(model.images.size()));
  uint32_t id = 1;
  for (const WrittenImage& i : model.images) {
    images.add(id);
    for (const double q : i.rotation) images.add(q);
    for (const double t : i.translation) images.add(t);
    images.add(i.camera);
    images.bytes += i.name + '\0';
    const bool with_point = id++ % 2 != 0;
    images.add(uint64_t(with_point ? 1 : 0)).bytes.append(with_point ? 24 : 0, '\1');
  }
  points.add(uint64_t(model.points.size()));
  uint64_t number = 1;
  for (const ScenePoint& p : model.points) {
    points.add(number++).add(double(p.position.x)).add(double(p.position.y)).add(double(p.position.z));
    for (const uint8_t level : p.rgb) points.add(level);
    points.add(0.5).add(uint64_t(1)).add(uint32_t(1)).add(uint32_t(0));
  }
  write_text(folder / "cameras.bin", cameras.bytes);
  write_text(folder / "images.bin", images.bytes);
  write_text(folder / "points3D.bin", points.bytes);
}

/// The views of a scene as a model, of a pinhole each.
inline WrittenModel model_of(const std::vector<View>& views, const Moved& moved) {
  WrittenModel model;
  const Camera& c = views.front().camera;
  model.cameras.push_back(
      {.width = uint64_t(c.width), .height = uint64_t(c.height), .parameters = {c.fx, c.fy, c.cx, c.cy}});
  for (const View& view : views) {
    WrittenImage image{.name = view.name + ".png"};
    set_pose(image, view.camera, moved);
    model.images.push_back(std::move(image));
  }
  return model;
}

/// A folder that is gone afterwards.
class WrittenFolder : public ::testing::Test {
 protected:
  /// The message of the error that loading ends with, or "" when it does not.
  std::string error(const SceneOptions& options = {}) const {
    try {
      load_scene(path.string(), options);
    } catch (const std::exception& e) {
      return e.what();
    }
    return "";
  }
  bool noted(const Scene& scene, const std::string& words) const {
    for (const std::string& note : scene.notes)
      if (note.find(words) != std::string::npos) return true;
    return false;
  }
  const TempFolder own;
  const fs::path path = own.path();
};

}  // namespace klab
