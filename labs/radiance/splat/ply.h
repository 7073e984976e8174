// Reads and writes Gaussians as .ply files in the layout of Kerbl et al. (2023), which viewers read.
//
// Vertices of float properties: x y z, nx ny nz (0), f_dc_0..2, f_rest_0..44 (channel by channel, 15 for
// each), opacity, scale_0..2, rot_0..3. All raw, as learned: the color is max(0, 0.5 + 0.2821·f_dc + ...),
// opacity goes through the logistic function, scales through exp, the rotation (w first) is divided by its
// length.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "labs/radiance/field/placement.h"
#include "labs/radiance/splat/placed.h"

namespace klab {

/// Where the Gaussians of one of klab's own files lie: a comment of its header says so.
struct StoredPlace {
  WorldPlace place;
  Placement placement;
};

/// Writes all 45 f_rest, zeros above the set's degree; positions are relative to the place's origin. If a placement is
/// given, a comment holds it and the place, so that pictures can be made from the file alone. Throws FileError.
void save_ply(const std::filesystem::path& file, const GaussianSet& set, const WorldPlace& place,
              const Placement* placement = nullptr);

/// Reads files of any form with 0, 9, 24 or 45 f_rest; properties may have any order, and unknown ones, lists and other
/// elements are passed over, which `notes` names. Infinite opacities and scales of minus infinity (the logarithm of 0) become the
/// limits below, which `notes` counts. Throws Refused if the file is no .ply, misses a property or has one that is no float,
/// has a count that contradicts its size, no vertex, another number that is not finite, or is compressed.
GaussianSet load_ply(const std::filesystem::path& file, const WorldPlace& place,
                     std::vector<std::string>* notes = nullptr);

/// Reads the place from the header; nothing if another program wrote it.
std::optional<StoredPlace> place_in_ply(const std::filesystem::path& file);

/// Opacities of 0 and 1 as finite raw values: those of a .splat's first and last level.
inline constexpr float kMostOpacityRaw = 6.232448F;  // the logarithm of the odds of 509/510
/// The size of a flat Gaussian, in the grid.
inline constexpr float kLeastSize = 1e-5F;

/// Positions that were read become relative to the place's origin: they are in the world's coordinates, or around that
/// origin already if most of them are nearer to zero.
void subtract_origin(GaussianSet& set, const WorldPlace& place);

}  // namespace klab
