// Reads and writes Gaussians as .splat, the compact form of browser viewers.
#pragma once

#include <filesystem>

#include "labs/radiance/field/placement.h"
#include "labs/radiance/splat/placed.h"

namespace klab {

/// Writes 32 bytes for each Gaussian and nothing else, little-endian, in the scene's own world: position 3
/// f32, scale 3 f32 (standard deviations, not their logarithms), color and opacity 4 u8, rotation 4 u8 (w
/// first; 128 + 128·component, of a unit quaternion). Colors are those of degree 0: their dependence on the
/// view is lost. The largest and most opaque come first, so that viewers can show the beginning of a file.
/// (The form of the viewer github.com/antimatter15/splat.) Throws FileError.
void save_splat(const std::filesystem::path& file, const GaussianSet& set, const WorldPlace& place);

/// Reads a .splat file of degree 0; opacities of 0 and 255 become 1/510 and 509/510. Throws Refused for a size that is no multiple of 32, no Gaussian, a number that is
/// not finite, a scale that is not above 0, or a rotation of length 0.
GaussianSet load_splat(const std::filesystem::path& file, const WorldPlace& place);

/// Choose the format by the file name's ending: .splat, .spz (3 or 4), .sog, else .ply. A .ply holds the placement too, if one is given.
void save_gaussians(const std::filesystem::path& file, const GaussianSet& set, const WorldPlace& place,
                    const Placement* placement = nullptr, int spz_version = 3);
/// `notes` receives what was changed.
GaussianSet load_gaussians(const std::filesystem::path& file, const WorldPlace& place,
                           std::vector<std::string>* notes = nullptr);

}  // namespace klab
