// Gaussians in a .ply file, as the program of Kerbl et al. (2023) writes them and viewers read them.
//
// Vertices of float properties: x y z, nx ny nz (0), f_dc_0..2, f_rest_0..44 (channel by channel, 15 for each), opacity,
// scale_0..2, rot_0..3. All raw, as learned: the color is max(0, 0.5 + 0.2821·f_dc + ...), opacity goes through the
// logistic function, scales through exp, the rotation (w first) is divided by its length.
#pragma once

#include <cstdint>
#include <filesystem>

#include "labs/radiance/splat/placed.h"

namespace klab {

/// Writes all 45 f_rest, zeros above the set's degree. Throws FileError.
void save_ply(const std::filesystem::path& file, const GaussianSet& set, const WorldPlace& place);

/// Reads binary_little_endian files with 0, 9, 24 or 45 f_rest, properties in any order, unknown ones passed over. Throws
/// std::runtime_error, "<file>: <why>": no .ply, another format, a property that is missing or no float, a count that
/// the file's size does not bear out, no vertex at all, a number that is not finite.
GaussianSet load_ply(const std::filesystem::path& file, const WorldPlace& place);

}  // namespace klab
