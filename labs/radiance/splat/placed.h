// Gaussians in the grid, and in the world of the scene's files.
#pragma once

#include <array>

#include "labs/radiance/scene/scene.h"
#include "labs/radiance/splat/gaussians.h"

namespace klab {

/// Where a world lies in the grid: grid = scale · turn · world + offset.
struct WorldPlace {
  float scale = 1;
  Vec3 offset{};
  std::array<float, 9> turn{1, 0, 0, 0, 1, 0, 0, 0, 1};  // a rotation, row by row
  bool turns() const { return turn != WorldPlace().turn; }
};

WorldPlace place_of(const Scene& scene);

/// The same Gaussians in the other space: places and sizes; where the world is turned, rotations too, and the harmonics of the
/// colors, degree by degree.
GaussianSet in_world(GaussianSet set, const WorldPlace& place);
GaussianSet in_grid(GaussianSet set, const WorldPlace& place);

}  // namespace klab
