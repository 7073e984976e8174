// Layout of a multiresolution hash table that is data: any size and resolution for each level, one of several hash functions.
//
// Sources of the functions: T. Mueller et al., "Instant Neural Graphics Primitives with a Multiresolution Hash Encoding", 2022
// (primes, and the tiled grid of its implementation); G. M. Morton, "A Computer Oriented Geodetic Data Base", 1966; M. Jarzynski
// and M. Olano, "Hash Functions for GPU Rendering", JCGT 9(3), 2020 (pcg3d).
#pragma once

#include <cstdint>
#include <vector>

namespace klab {

/// Computes a word from three coordinates; a level uses its lowest bits.
namespace table_hash {
inline constexpr int64_t primes = 0;  // x ^ y·2654435761 ^ z·805459861
inline constexpr int64_t morton = 1;  // bits of x, y and z in turn
inline constexpr int64_t pcg = 2;  // pcg3d: three linear congruential steps that stir each other, first word
inline constexpr int64_t tiled = 3;  // low bits of x, then of y, then of z: the grid repeats itself
inline constexpr int64_t count = 4;
}  // namespace table_hash

/// Interpolation between the corners of a point's cell.
namespace table_blend {
inline constexpr int64_t linear = 0;
inline constexpr int64_t nearest = 1;     // the grid point nearest to x·scale: the cell's lower corner
inline constexpr int64_t smoothstep = 2;  // linear after f²·(3 - 2f), so that slopes are continuous
inline constexpr int64_t count = 3;
}  // namespace table_blend

/// One level. A level that holds all its points is dense: x fastest, then y, then z.
///
/// Else it is hashed, and of any size: with 2^(k-1) < entries <= 2^k the k lowest bits of the word are the
/// entry, without the topmost where that is beyond the last entry (W. Litwin, "Linear Hashing", 1980). So a
/// level that grows from m to at most 2m entries keeps every entry, and each new one starts as a copy of an
/// old one: no value changes.
struct TableLevel {
  float scale = 0;       // grid position of x in [0, 1] is x·scale + 0.5
  uint32_t points = 1;   // an axis
  int64_t offset = 0;    // entries before this level
  uint32_t entries = 0;  // of this level
  uint32_t bits = 0;     // k; of a dense level 0
  uint32_t mask = 0;     // 2^k - 1
  uint32_t half = 0;     // 2^(k-1)
  bool dense = false;
};

/// Returns the level with `entries` entries that starts after `offset` others.
TableLevel table_level(float scale, int64_t entries, int64_t offset);

/// Returns levels by their scales and sizes ([levels] each), one after the other.
std::vector<TableLevel> table_levels(int64_t levels, const float* scales, const int64_t* sizes);

/// Returns the word of a grid point; only `tiled` uses `bits`.
uint32_t table_word(int64_t hash, uint32_t bits, uint32_t x, uint32_t y, uint32_t z);

/// Returns the entry of a grid point, counted from the level's first. The upper corner of a cell at the far
/// border can be one beyond the last point of a dense level: it wraps, as in hashgrid_fwd.
uint32_t table_index(const TableLevel& level, int64_t hash, uint32_t x, uint32_t y, uint32_t z);

/// Returns the entry that entry `e` replaces when a level grows from `before` to `after` entries: the result
/// r for which table_index() of any point was r before if it is e afterwards. Only for hashed levels, before
/// <= after, and words that do not depend on the number of bits (not `tiled`).
uint32_t table_origin(int64_t before, int64_t e);

}  // namespace klab
