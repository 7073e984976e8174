// Points in space that come with a scene: of structure from motion, or a scanner's.
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
  int64_t left_out = 0;  // coordinates that are not finite, or beyond range::pose

  /// Takes it, or counts it as left out.
  void add(double x, double y, double z, const std::array<uint8_t, 3>& rgb);
};

/// A .ply with the properties x, y, z and, where there are, red, green, blue of 8 bits (points without are gray); binary
/// little-endian or ascii. Throws std::runtime_error, "<file>: <why>": no such file, no .ply, no coordinates, a count that
/// the file does not bear out.
PointCloud read_point_cloud(const std::filesystem::path& file);

/// The words of a text, one after the other, separated by blanks.
class Words {
 public:
  explicit Words(std::string_view text) : left_(text) {}
  /// Empty when there is none left.
  std::string_view next();
  /// All that follows, without blanks at its ends.
  std::string_view rest() const;

 private:
  std::string_view left_;
};

/// A number that all of a word is; false where it is none (or where there is no word).
bool read_number(std::string_view word, double& to);

}  // namespace klab
