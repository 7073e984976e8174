// The surface of a trained field: where its density has one value.
#pragma once

#include "labs/radiance/evaluate/field_points.h"
#include "labs/radiance/export/mesh.h"
#include "labs/radiance/splat/placed.h"

namespace klab {

struct SurfaceOptions {
  int resolution = 256;              // cells along the longest edge of the box
  double level = 20;                 // density per side of the unit cube
  Vec3 low{0, 0, 0}, high{1, 1, 1};  // of the box, in the grid
};

/// Returns the points of the grid that a surface with these options is made on, along each axis.
std::array<int, 3> surface_points(const SurfaceOptions& options);
/// Returns the memory of the values at these points.
int64_t surface_bytes(const SurfaceOptions& options);

/// Returns the closed surface within the box, in the grid, with the colors that rays along the normals see. Throws
/// std::runtime_error if the density reaches the level nowhere.
Mesh field_surface(FieldPoints& field, const SurfaceOptions& options);

/// Returns Gaussians as points with their colors of degree 0: those that absorb at least half of the light. Normals are the
/// shortest axes, away from the middle of the box.
Mesh points_of_gaussians(const GaussianSet& set);

/// Converts positions and normals from the grid to the world, relative to its origin.
void move_to_world(Mesh& mesh, const WorldPlace& place);

}  // namespace klab
