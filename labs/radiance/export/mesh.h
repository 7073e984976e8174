// A surface of triangles: made from a field, written for other programs.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "labs/radiance/scene/camera.h"

namespace klab {

struct Mesh {
  std::vector<Vec3> positions;
  std::vector<Vec3> normals;                       // of unit length, outwards
  std::vector<std::array<uint8_t, 3>> colors;      // sRGB
  std::vector<std::array<uint32_t, 3>> triangles;  // counterclockwise from outside
};

/// Returns the area of all triangles.
double area_of(const Mesh& mesh);

/// Returns `count` points spread evenly over the surface, with normals and colors interpolated, and no triangles.
Mesh points_on(const Mesh& mesh, int64_t count, uint64_t seed);

/// Writes a binary .ply: vertices x y z nx ny nz red green blue, and triangles as lists vertex_indices, if there are any.
/// Throws FileError.
void save_mesh_ply(const std::filesystem::path& file, const Mesh& mesh);

/// Writes glTF 2.0 in one file: positions, normals, linear colors of 16 bits, indices; unlit, since colors are those of the
/// pictures; a node turns +z up into glTF's +y. Throws FileError, and std::runtime_error for a mesh of more than 4 GB.
void save_mesh_glb(const std::filesystem::path& file, const Mesh& mesh);

}  // namespace klab
