// A small scene on disk, for tests that change it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "labs/radiance/scene/scene.h"
#include "tests/core/temp_folder.h"

namespace klab {

namespace fs = std::filesystem;
using nlohmann::json;

// A folder with a small scene of four 16x12 pictures; a test changes it and loads it.
class SceneFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    document = {{"camera_angle_x", 0.7}, {"frames", json::array()}};
    for (int i = 0; i < 4; ++i) {
      const std::string name = "view_" + std::to_string(i);
      picture(name + ".png", 16, 12, 4);
      document["frames"].push_back({{"file_path", "./" + name}, {"transform_matrix", pose(float(i))}});
    }
  }

  static json pose(float angle) {
    const float c = std::cos(angle), s = std::sin(angle);
    // Looks along -z, which points away from the camera's place: towards the origin.
    return json::array({{c, 0, s, 4 * s}, {0, 1, 0, 0}, {-s, 0, c, 4 * c}, {0, 0, 0, 1}});
  }
  void picture(const std::string& name, int w, int h, int channels) const {
    std::vector<uint8_t> pixels(size_t(w * h * channels));
    for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = uint8_t(i * 37);
    save_png(path / name, w, h, channels, pixels);
  }
  void write(const std::string& name = "transforms_train.json") const {
    std::ofstream(path / name) << document.dump();
  }
  Scene load() const { return load_scene(path.string(), {}); }
  // The message of the error that loading ends with, or "" when it does not.
  std::string error() const {
    try {
      load();
    } catch (const std::exception& e) {
      return e.what();
    }
    return "";
  }

  const TempFolder folder_;
  const fs::path path = folder_.path();
  json document;
};

}  // namespace klab
