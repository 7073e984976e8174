// Reads and writes Gaussians as .spz, the compressed form of github.com/nianticlabs/spz.
//
// A gzip stream: "NGSP", version, number of Gaussians (u32 each), degree of the harmonics, fractional bits of
// positions, flags, 0 (u8 each); then one property after the other, Gaussian by Gaussian:
//
//   positions   3 × 24 bits, signed, in units of 2^-fractional bits
//   opacities   u8, 255 times the opacity
//   colors      3 u8, 127.5 + 38.25·c for coefficients c of degree 0
//   scales      3 u8, 16·(10 + logarithm)
//   rotations   version 3: u32, the largest of x y z w is left out: its number in 2 bits, then for each of the others, in their
//               order, a sign and 9 bits of its amount over sqrt(1/2); version 2: x y z as u8, 127.5·(1 + q), w not negative
//   harmonics   above degree 0, function by function, red, green, blue: u8, 128 + 128·c
//
// Version 4 is not a gzip stream: magic, version, number, degree, fractional bits, flags, number of streams (u8 each), place of the
// table (u32), 12 zero bytes; extensions, if a flag says so, each a type, a length (u32 each) and its bytes; the table, packed and
// unpacked size (u64 each) of every stream; then each property as a Zstandard stream, as in version 3. An empty one has no stream.
//
// Axes are x right, y up, z backward: half a turn about x from those of a splatting .ply, y down and z forward.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "labs/radiance/splat/placed.h"

namespace klab {

/// Writes version 3 or 4, with as many fractional bits as the farthest position leaves. Values that do not fit are clipped:
/// logarithms of scales outside of -10 to 5.9, coefficients outside of -1 to 1, and of degree 0 outside of -3.3 to 3.3.
/// Throws FileError, std::runtime_error for positions that 24 bits cannot hold, and Refused for version 4 without libzstd.
void save_spz(const std::filesystem::path& file, const GaussianSet& set, const WorldPlace& place,
              int version = 3);

/// Reads versions 2 to 4. Opacities of 0 and 255 become 1/510 and 509/510. `notes` receives what is ignored, extensions of
/// version 4 among it. Throws Refused for another version, extensions of versions 2 and 3, other axes, a degree above 3, a file
/// that is cut short or longer than its header says, no Gaussian, and version 4 without libzstd.
GaussianSet load_spz(const std::filesystem::path& file, const WorldPlace& place,
                     std::vector<std::string>* notes = nullptr);

}  // namespace klab
