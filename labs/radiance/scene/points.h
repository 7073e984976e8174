// Points in space that come with a scene: from structure from motion, or from a scanner.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "labs/radiance/scene/camera.h"

namespace klab {

struct ScenePoint {
  Vec3 position;
  std::array<uint8_t, 3> rgb{128, 128, 128};
};

struct PointCloud {
  std::vector<ScenePoint> points;
  int64_t left_out = 0;  // points with coordinates that are not finite, or beyond range::pose

  /// Adds a point, or counts it as left out.
  void add(double x, double y, double z, const std::array<uint8_t, 3>& rgb);
};

/// Reads a .ply with the properties x, y, z and, optionally, red, green, blue of 8 bits (points without are
/// gray); binary little-endian or ascii. Throws std::runtime_error, "<file>: <why>": no such file, no .ply,
/// no coordinates, a count that contradicts the file's size.
PointCloud read_point_cloud(const std::filesystem::path& file);

/// Splits a text at blanks.
class Words {
 public:
  explicit Words(std::string_view text) : left_(text) {}
  /// Returns the next word; empty if there is none left.
  std::string_view next();
  /// Returns the rest, without blanks at its ends.
  std::string_view rest() const;

 private:
  std::string_view left_;
};

/// Parses a word as a number; returns false if not all of it is one (or there is no word).
bool read_number(std::string_view word, double& to);

}  // namespace klab
