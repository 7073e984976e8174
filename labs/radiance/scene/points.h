// Points in space that come with a scene: from structure from motion, or from a scanner.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/records/numbers.h"
#include "labs/radiance/scene/camera.h"

namespace klab {

/// A position in a file's own world, before anything is rounded.
using WorldPosition = std::array<double, 3>;

/// Coordinates of a world: national grids and the earth's own system reach beyond 10^6 meters.
inline constexpr Range kWorld{-1e9, 1e9};

/// Returns the point that is subtracted from a world's coordinates before they are rounded to floats: the zero
/// point, unless the cameras are more than 100 times as far from it as from each other (coordinates of a national
/// grid, for example). Then it is the cameras' median, rounded to a power of ten below their distances.
WorldPosition origin_of(std::span<const WorldPosition> cameras);

/// Formats "(453200, 312345, 812)" with as many digits as an origin has.
std::string position_text(const WorldPosition& position);

struct ScenePoint {
  Vec3 position;
  std::array<uint8_t, 3> rgb{128, 128, 128};
};

struct PointCloud {
  std::vector<ScenePoint> points;
  WorldPosition origin{};  // subtracted from all coordinates
  // Numbers of the images that show each point, one after the other, and where those of a point end; empty if unknown.
  std::vector<uint32_t> seen_by;
  std::vector<size_t> seen_end;
  int64_t left_out = 0;  // points with coordinates that are not finite, or beyond kWorld

  /// Adds a point, or counts it as left out.
  void add(double x, double y, double z, const std::array<uint8_t, 3>& rgb);
  /// Does so for a point with the images that show it.
  void add(double x, double y, double z, const std::array<uint8_t, 3>& rgb, std::span<const uint32_t> images);
};

/// Reads a .ply with the properties x, y, z and, optionally, red, green, blue: of 8 bits, of 16, or floats up to 1
/// (points without are gray). All forms of the format; other properties, lists and elements are passed over. Throws
/// Refused: no .ply, no coordinates, a number of points that the file has no room for.
PointCloud read_point_cloud(const std::filesystem::path& file, const WorldPosition& origin = {});

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
