// Layout of the levels of a hash encoding in its table, shared by the reference, the kernels, the trainer and
// the tests.
//
// A level is a grid of `resolution` points an axis over the unit cube. If the whole grid fits into
// 2^log2_table entries it is stored point by point, x fastest (dense). Otherwise a grid point's entry is
// found by a hash, and unrelated points share entries. Levels lie one after the other:
//
//   entry   0 ........ 4096 .......... 14744 ............... 41744            ...
//           | level 0, dense | level 1, dense | level 2, dense | ... | level 15, hashed, 2^19 entries |
//
// Source of every formula: T. Mueller et al., "Instant Neural Graphics Primitives with a Multiresolution Hash
// Encoding", SIGGRAPH 2022, section 3 and equations 2 to 4, and the details of its published implementation
// (tiny-cuda-nn, encodings/grid.h): scale = base*growth^level - 1, resolution = ceil(scale) + 1, position
// shifted by half a cell, entries rounded up to a multiple of 8.
#pragma once

#include <cstdint>
#include <vector>

namespace klab {

/// Multipliers of the spatial hash, one an axis: index = (x*1 ^ y*2654435761 ^ z*805459861) mod 2^log2_table,
/// in 32-bit unsigned arithmetic. The 1 keeps neighbors along x in one cache line most of the time.
inline constexpr uint32_t kHashgridPrimes[3] = {1U, 2654435761U, 805459861U};

struct HashgridLevel {
  float scale = 0;         // grid position of x in [0, 1] is x*scale + 0.5, in [0.5, scale + 0.5]
  int64_t resolution = 0;  // points an axis of the dense layout
  int64_t offset = 0;      // entries before this level
  int64_t entries = 0;     // of this level
  bool dense = false;      // stored point by point; otherwise hashed
  uint32_t mask = 0;       // entries - 1 of a hashed level (a power of two); 0 of a dense one
};

/// Returns the growth of the resolution from level to level that leads from `base` to `finest`:
/// exp(ln(finest/base)/(levels-1)), 1 for a single level (reference paper, equation 3).
double hashgrid_growth(int64_t levels, int64_t base, int64_t finest);

/// Returns the levels of an encoding of `dim` axes. Throws std::invalid_argument for a number that makes no
/// grid: dim other than 2 or 3, levels or base below 1, log2_table outside 1..28, growth below 1, a
/// resolution above 2^20.
std::vector<HashgridLevel> hashgrid_levels(int64_t dim, int64_t levels, int64_t log2_table, int64_t base,
                                           double growth);

/// Returns the entries of all levels together; a table has this many times the features.
int64_t hashgrid_entries(const std::vector<HashgridLevel>& levels);

/// Returns the entry, counted from the level's first, of the grid point at `corner` (`dim` integers).
///
/// The upper corner of a cell at the far border of the cube can be one beyond the last point of the dense
/// layout. As in the published implementation it then wraps: into the next row, and from beyond the last
/// entry to the first.
int64_t hashgrid_index(const HashgridLevel& level, int64_t dim, const int64_t* corner);

/// How a set of positions uses one level.
struct HashgridUse {
  int64_t points = 0;   // different grid points touched
  int64_t entries = 0;  // different entries touched
  /// Share of the touched grid points that have an entry to themselves; 1 on a dense level, away from the far
  /// border.
  double alone = 1;
};

/// Counts the use of one level by `n` positions [dim, n] in [0, 1], in memory proportional to n.
HashgridUse hashgrid_use(const HashgridLevel& level, int64_t dim, int64_t n, const float* positions);

}  // namespace klab
