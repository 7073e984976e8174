// Reads and writes Gaussians as .ply files in the layout of Kerbl et al. (2023), which viewers read.
//
// Vertices of float properties: x y z, nx ny nz (0), f_dc_0..2, f_rest_0..44 (channel by channel, 15 for
// each), opacity, scale_0..2, rot_0..3. All raw, as learned: the color is max(0, 0.5 + 0.2821·f_dc + ...),
// opacity goes through the logistic function, scales through exp, the rotation (w first) is divided by its
// length.
#pragma once

#include <cstdint>
#include <filesystem>

#include "labs/radiance/splat/placed.h"

namespace klab {

/// Writes all 45 f_rest, zeros above the set's degree. Throws FileError.
void save_ply(const std::filesystem::path& file, const GaussianSet& set, const WorldPlace& place);

/// Reads binary_little_endian files with 0, 9, 24 or 45 f_rest; properties may have any order, and unknown
/// ones are skipped. Throws std::runtime_error, "<file>: <why>", if the file is no .ply, has another format,
/// misses a property or has one that is no float, has a count that contradicts its size, no vertex, or a
/// number that is not finite.
GaussianSet load_ply(const std::filesystem::path& file, const WorldPlace& place);

}  // namespace klab
