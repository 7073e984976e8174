// Converts Gaussians between the grid and the world of the scene's files.
#pragma once

#include <array>

#include "labs/radiance/scene/scene.h"
#include "labs/radiance/splat/gaussians.h"

namespace klab {

/// Maps a world to the grid: grid = scale · turn · (world - origin) + offset.
struct WorldPlace {
  float scale = 1;
  Vec3 offset{};
  std::array<float, 9> turn{1, 0, 0, 0, 1, 0, 0, 0, 1};  // a rotation, row by row
  WorldPosition origin{};
  bool turns() const { return turn != WorldPlace().turn; }
};

WorldPlace place_of(const Scene& scene);

/// Converts to the other space, in which positions are relative to the origin: positions and sizes. If the world is rotated, also rotations and the
/// harmonics of the colors, degree by degree.
GaussianSet in_world(GaussianSet set, const WorldPlace& place);
GaussianSet in_grid(GaussianSet set, const WorldPlace& place);

}  // namespace klab
