// Contract of hashgrid_fwd: positions to features, through a multiresolution hash table.
//
// For every level l and point i the grid position is p = x*scale_l + 0.5. The 2^dim corners of the cell
// around p have entries in the level's part of the table (layout.h). The features are interpolated between
// them, linearly along every axis:
//
//   features[l*F + f, i] = sum over corners c of  prod_d hat(p_d - c_d) * table[offset_l + index(c), f],
//   hat(t) = max(0, 1 - |t|)
#pragma once

#include <vector>

#include "reference/contract.h"
#include "reference/hashgrid_fwd/layout.h"

namespace klab {

/// Sizes that hashgrid_fwd and hashgrid_bwd share.
struct HashgridShape {
  int64_t n;           // points
  int64_t dim;         // 2 or 3
  int64_t levels;      // 1..32
  int64_t features;    // of a level: 1, 2, 4 or 8
  int64_t log2_table;  // a level has at most 2^this entries
  int64_t base;        // resolution of the coarsest level
  int64_t finest;      // resolution of the finest level
  /// Positions drawn by tests and benchmarks; it has no other effect. 0: random in the cube; 1: samples along
  /// rays in the order in which a ray marcher emits them.
  int64_t coherent = 0;
};

/// Returns the shape's levels.
std::vector<HashgridLevel> hashgrid_levels(const HashgridShape& shape);

/// Compulsory traffic, arithmetic and random reads of one direction; shared by both contracts. A random read
/// is a cache line of a large level. Corners that share a line, and levels that a nearer cache holds, are not
/// counted, so that no clever use of lines exceeds the ceiling of random reads. The table's bytes are counted
/// as moved entry by entry.
Cost hashgrid_cost(const HashgridShape& shape, double table_passes);

bool hashgrid_valid(const HashgridShape& shape);

/// Replaces positions [dim, n] by samples along rays: stretches of up to 64 samples, sqrt(3)/1024 apart,
/// typical behind an occupancy grid.
void hashgrid_march(const HashgridShape& shape, float* positions, Generator& random);

struct HashgridFwd {
  static constexpr std::string_view name = "hashgrid_fwd";
  static constexpr std::array dims = {"n",          "dim",  "levels", "features",
                                      "log2_table", "base", "finest", "coherent"};
  static constexpr std::array optional = {"table_half"};
  using Shape = HashgridShape;

  template <class T>
  struct Args {
    Shape shape;
    const T* positions;          // [dim, n] f32, input, in [0, 1]
    const T* table;              // [entries, features] f32, input, entries of all levels one after the other
    const uint16_t* table_half;  // [entries, features] f16 bits, input: the same table; optional
    T* features;                 // [levels*features, n] f32, written (=)
  };

  static void tensors(auto& args, auto&& visit) {
    const Shape& s = args.shape;
    const int64_t entries = hashgrid_entries(hashgrid_levels(s));
    visit("positions", args.positions, Role::input, Draw::unit, {s.dim, s.n});
    visit("table", args.table, Role::input, Draw::real, {entries, s.features});
    visit("table_half", args.table_half, Role::input, Draw::arranged, {entries, s.features});
    visit("features", args.features, Role::output, Draw::real, {s.levels * s.features, s.n});
  }

  static bool valid(const Shape& s) { return hashgrid_valid(s); }

  /// Every position read once, every feature written once, and each entry that n points can touch read once.
  static Cost cost(const Shape& s) { return hashgrid_cost(s, 1); }

  /// 1: the magnitude holds the whole bound, in units of u, because it depends on the position (see the
  /// reference).
  static double terms(const Shape&) { return 1; }

  /// Makes the table representable in half precision and fills table_half with it, so that every rung,
  /// whichever table it reads, is held to the same bound. A value too small for a half becomes its smallest
  /// denormal.
  static void arrange(const Args<float>& x, Generator& random);

  /// magnitude.features = the bound on the error, in units of u; derived in hashgrid_fwd.cpp.
  static void reference(const Args<double>& x, const Args<double>& magnitude);
};

}  // namespace klab
