// Measured depth of a scene on disk: depth maps next to its pictures, and the points of a COLMAP model that a picture shows.
#pragma once

#include "labs/radiance/scene/frames.h"

namespace klab {

/// A depth map as its file stores it: whole numbers of a unit, 0 where the distance is not known.
struct DepthMap {
  int width = 0, height = 0;
  std::vector<uint16_t> levels;  // [height, width]
};

/// Reads a gray PNG of 16 bits. Throws Refused, naming the file, for anything else.
DepthMap load_depth_map(const std::filesystem::path& file);

/// Returns the distances along the rays of a view's pixels, in grid units, 0 where they are not known: of the frame's
/// depth map, whose numbers are distances along the viewing axis, or else of the points that it shows. `camera` is the
/// view's, in the grid. Empty if the frame has neither. Throws Refused for a map of another shape, one without a
/// distance, and one whose unit cannot be right.
std::vector<float> depth_of(const Frame& frame, const Camera& camera, const Scene& scene);

}  // namespace klab
