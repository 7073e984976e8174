// Gaussians as .splat, the small form of viewers in browsers.
#pragma once

#include <filesystem>

#include "labs/radiance/splat/placed.h"

namespace klab {

/// 32 bytes a Gaussian and nothing else, little-endian, in the scene's own world: position 3 f32, scale 3 f32 (standard
/// deviations, not their logarithms), color and opacity 4 u8, rotation 4 u8 (w first; 128 + 128·component, of a unit
/// quaternion). Colors are those of degree 0: what turns with the view is lost. The largest and most opaque come first, so
/// that viewers can show the beginning of a file. (The form of the viewer github.com/antimatter15/splat.) Throws FileError.
void save_splat(const std::filesystem::path& file, const GaussianSet& set, const WorldPlace& place);

/// Throws std::runtime_error, "<file>: <why>": a size that is no multiple of 32, no Gaussian, a number that is not finite, a scale
/// that is not above 0, a rotation without direction. Degree 0; opacities of 0 and 255 become 1/510 and 509/510.
GaussianSet load_splat(const std::filesystem::path& file, const WorldPlace& place);

/// By the ending of the name: .splat, else .ply.
void save_gaussians(const std::filesystem::path& file, const GaussianSet& set, const WorldPlace& place);
GaussianSet load_gaussians(const std::filesystem::path& file, const WorldPlace& place);

}  // namespace klab
