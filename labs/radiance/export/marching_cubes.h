// Marching cubes: the surface on which a function on a grid has one value.
//
// W. Lorensen and H. Cline, "Marching cubes: a high resolution 3D surface construction algorithm", SIGGRAPH 1987. The
// cases are derived here: on each face of a cell, an edge of the surface cuts off every run of corners inside, and these
// edges are chained to loops. Both cells of a face find the same edges, so no hole is left.
#pragma once

#include <span>

#include "labs/radiance/evaluate/field_points.h"
#include "labs/radiance/export/mesh.h"

namespace klab {

/// A function on the points of a grid over a box, x fastest. Where it is kNoValue, there is nothing: the surface passes in the
/// middle between such points and points inside.
struct SampledBox {
  std::array<int, 3> points{};  // along each axis, 2 at least
  Vec3 low, high;
  std::span<const float> values;
  Vec3 at(int x, int y, int z) const;
};

/// Returns the surface around the points whose value is at least `level`, without colors. It is closed: where the box cuts
/// through the inside, its faces are part of the surface. Every edge belongs to two triangles, which pass it in opposite
/// directions. Normals follow the gradient; on a face of the box they are the face's. Throws std::runtime_error for more
/// than 2^32 vertices.
Mesh marching_cubes(const SampledBox& box, float level);

}  // namespace klab
