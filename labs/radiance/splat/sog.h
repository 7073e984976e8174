// Gaussians as SOG, PlayCanvas' Spatially Ordered Gaussians: a zip of meta.json and lossless WebP pictures, version 2.
//
// Source: https://developer.playcanvas.com/user-manual/gaussian-splatting/formats/sog, and for the order of a rotation's components the
// converter github.com/playcanvas/splat-transform.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "labs/radiance/splat/placed.h"

namespace klab {

/// Writes Gaussians in the scene's own world, in Morton order. Positions have 16 bits for each axis of their logarithms' range, rotations 26
/// bits, opacities 8; scales, colors, and the coefficients above degree 0 are each one of 256 values. Coefficients above degree 0 are one
/// of 65536 sets; where there are more Gaussians, several share one. Throws FileError, Refused where klab was built without libwebp, and
/// std::runtime_error for numbers that are not finite.
void save_sog(const std::filesystem::path& file, const GaussianSet& set, const WorldPlace& place);

/// Reads a .sog file. Throws Refused for an archive or a picture that is damaged, another
/// version, pictures that are too small, values out of range, and where klab was built without libwebp.
GaussianSet load_sog(const std::filesystem::path& file, const WorldPlace& place);

}  // namespace klab
